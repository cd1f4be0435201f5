export const MINUTE_MS = 60_000
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS

/**
 * Maximum age of a segment of a topic with short retention. The age is limited because the broker deletes only closed
 * segments.
 */
export const SHORT_SEGMENT_MS = 10 * MINUTE_MS
/**
 * Maximum age of a segment of a compacted topic. Compaction skips the open segment, which by default stays open for a
 * week. Without this limit, a quiet topic would keep replaced records for that time.
 */
const COMPACTED_SEGMENT_MS = 6 * HOUR_MS

export function keptFor(retentionMs: number, segmentMs: number): Readonly<Record<string, string>> {
  return { 'cleanup.policy': 'delete', 'retention.ms': String(retentionMs), 'segment.ms': String(segmentMs) }
}

export const compacted: Readonly<Record<string, string>> = { 'cleanup.policy': 'compact', 'segment.ms': String(COMPACTED_SEGMENT_MS) }

/**
 * Time within which the broker must begin to compact a record that must be erased within the hour. The rest of the hour
 * is for the compaction itself. The broker first has to close the record's segment, and it closes a segment only when
 * further records arrive; see `KeyedStore.roll`.
 */
const ERASABLE_COMPACTED_MS = 20 * MINUTE_MS

/** Additional configuration of compacted topics whose replaced records must be erased within the hour. */
export const erasable: Readonly<Record<string, string>> = {
  'max.compaction.lag.ms': String(ERASABLE_COMPACTED_MS),
  'segment.ms': String(ERASABLE_COMPACTED_MS),
}

/**
 * Limit for keys that must be erased. The broker must begin to compact a record within this time, and keeps a tombstone
 * for the same time.
 */
const ERASABLE_KEY_MS = 10 * MINUTE_MS

/**
 * Additional configuration of compacted topics whose keys must be erased within the hour. The first compaction after
 * `delete.retention.ms` removes a tombstone with its key. Erasing a key thus takes two compactions and the time between
 * them.
 */
export const erasableKeys: Readonly<Record<string, string>> = {
  'max.compaction.lag.ms': String(ERASABLE_KEY_MS),
  'segment.ms': String(ERASABLE_KEY_MS),
  'delete.retention.ms': String(ERASABLE_KEY_MS),
}

/**
 * Additional configuration of compacted topics whose records about deleted users contain only ids. Event topics keep
 * such records for a week, so compacted topics may do the same. The seventh day is for the compaction itself.
 */
export const idsErasable: Readonly<Record<string, string>> = { 'max.compaction.lag.ms': String(6 * DAY_MS) }

/**
 * Retention of records that are read within seconds and whose content must be erased within the hour, such as commands
 * and the locations of users.
 */
export const erasableKept = keptFor(30 * MINUTE_MS, SHORT_SEGMENT_MS)

/**
 * Retention of commands whose content need not be erased within the hour: a day. The deadlines of the commands have
 * long passed by then, but operators may still need to examine the commands.
 */
export const commandsKept = keptFor(DAY_MS, HOUR_MS)

/**
 * Configuration of topics whose records are timestamped with the time of arrival at the broker, because senders must
 * not choose the timestamp.
 */
export const APPEND_TIME: Readonly<Record<string, string>> = { 'message.timestamp.type': 'LogAppendTime' }
