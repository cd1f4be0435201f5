import { type PartitionData, TransportError } from '../../../kafka/transport.ts'
import type { StateColumn, StateSession } from '../../../state/stores/store.ts'
import type { Changelog } from '../task/task-place.ts'

/**
 * If the number of distinct keys in a fetch is more than this share of its records, searching for repeated keys costs
 * more than the writes that it saves.
 */
const MOSTLY_DIFFERENT = 0.7
/** Number of fetches that are copied without a search for repeated keys, after a fetch of mostly distinct keys. */
const UNSEEN_FETCHES = 15

/**
 * Copies changelog records into a session's open batch. The state and the changelog contain the same bytes. If the
 * reader was reset (`PartitionData.wasReset`), deletes the present state first.
 */
export type ChangelogCopy = (changelog: Changelog, data: PartitionData) => void

/**
 * Creates a function that copies changelog records. As long as keys often occur several times in one fetch, the
 * function writes only the last value of each key. Restoring a hot key then costs little more than reading its records.
 */
export function changelogCopy(session: StateSession): ChangelogCopy {
  /** For each store, the number of fetches that are still to be copied without a search for repeated keys. */
  const unseen = new Map<string, number>()

  return function copy(changelog, data) {
    checkReadable(data)
    clearIfReset(session, changelog, data)
    const { store, partition } = changelog
    const column = session.column(store, partition)
    const left = unseen.get(store) ?? 0
    if (left > 0) {
      unseen.set(store, left - 1)
      putRecords(column, data)
    } else if (copyLast(column, data) > MOSTLY_DIFFERENT) unseen.set(store, UNSEEN_FETCHES)
  }
}

/**
 * Checks that the data contain no unreadable batch. If such a batch were skipped, the state would lack its records. The
 * engine itself never writes one to a changelog.
 * @throws TransportError when the data contain an unreadable batch
 */
export function checkReadable({ topic, partition, chunks }: PartitionData): void {
  const damaged = chunks.find((chunk) => chunk.unreadable !== undefined)
  if (damaged !== undefined) throw new TransportError('CORRUPT_BATCH', `${topic}-${partition}: ${damaged.unreadable}`, { fatal: true })
}

/**
 * Deletes the state if the reader was reset. The log has then lost records, perhaps including tombstones of keys that
 * the state still contains.
 */
export function clearIfReset(session: StateSession, { store, partition, positionName }: Changelog, { wasReset }: PartitionData): void {
  if (!wasReset) return
  session.write()
  session.clear(store, partition, [positionName])
}

/** Adds all records to the open batch, in their order. */
export function putRecords(column: StateColumn, { chunks }: PartitionData): void {
  for (const { buffer, count, keyStart, keyEnd, valueStart, valueEnd } of chunks) {
    for (let i = 0; i < count; i++) {
      if (keyStart[i] < 0) continue
      const value = valueStart[i] < 0 ? null : buffer
      column.put(buffer, keyStart[i], keyEnd[i], value, Math.max(0, valueStart[i]), Math.max(0, valueEnd[i]))
    }
  }
}

/**
 * Copies from the last record to the first, and skips keys that were already copied.
 * @returns the share of distinct keys
 */
function copyLast(column: StateColumn, { chunks }: PartitionData): number {
  const seen = new Set<string>()
  let records = 0
  for (const { buffer, count, keyStart, keyEnd, valueStart, valueEnd } of chunks.toReversed()) {
    for (let i = count - 1; i >= 0; i--) {
      if (keyStart[i] < 0) continue
      records++
      const key = buffer.toString('latin1', keyStart[i], keyEnd[i])
      if (seen.has(key)) continue
      seen.add(key)
      const value = valueStart[i] < 0 ? null : buffer
      column.put(buffer, keyStart[i], keyEnd[i], value, Math.max(0, valueStart[i]), Math.max(0, valueEnd[i]))
    }
  }
  return records === 0 ? 0 : seen.size / records
}
