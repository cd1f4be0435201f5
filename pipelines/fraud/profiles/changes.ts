import { type EntityKind, entityKey } from '../../../schemas/fraud/entity.ts'
import type { EntityVerdict } from '../../../schemas/fraud/profile/verdicts.ts'
import type { FraudChangedEntities, FraudEvent } from '../../../schemas/fraud/types.ts'
import type { Topic } from '../../../schemas/topic.ts'
import type { Context } from '../../engine/index.ts'

/**
 * Collects the changes of entities until the commit. The profile of an entity with thousands of transactions is then
 * updated only once. The entities of a partition share records, because a record for each entity would cost more than
 * the update of its profile.
 */
export interface EntityChanges {
  addEvent(kind: EntityKind, id: string, event: FraudEvent, ctx: Context): void
  /** Adds a transaction that was counted before. The view may still list it as in flight. */
  addRepeat(kind: EntityKind, id: string, event: FraudEvent, ctx: Context): void
  addVerdict(kind: EntityKind, id: string, verdict: EntityVerdict, ctx: Context): void
  /** Must run before each commit. */
  emitAll(ctx: Context): void
}

/** A record under construction for one partition, and the changes in it. */
interface OpenRecord {
  readonly partition: number
  changes: FraudChangedEntities
  parts: number
}

/** The transactions of one entity in a record. */
interface PendingEvents {
  readonly record: OpenRecord
  readonly changes: FraudChangedEntities
  readonly events: FraudEvent[]
}

/**
 * Maximum number of transactions and verdicts in a record. A record then has at most 400 KiB and takes some
 * milliseconds to process, after which the engine checks the time.
 */
const MOST_PARTS = 2_000

export function entityChanges(topic: Topic<string, FraudChangedEntities>): EntityChanges {
  let pending = new Map<string, PendingEvents>()
  const records: OpenRecord[] = []

  /** Returns a record with room for one more transaction or verdict. */
  function roomIn(record: OpenRecord, ctx: Context): FraudChangedEntities {
    if (record.parts === MOST_PARTS) emit(record, ctx)
    record.parts++
    return record.changes
  }

  function recordFor(entity: string, ctx: Context): OpenRecord {
    const partition = ctx.partitionBy(topic, entity)
    records[partition] ??= { partition, changes: noChanges(), parts: 0 }
    return records[partition]
  }

  function emit(record: OpenRecord, ctx: Context): void {
    const { partition, changes } = record
    record.changes = noChanges()
    record.parts = 0
    ctx.emit(topic, String(partition), changes, { timestamp: ctx.now, partition })
  }

  return {
    addEvent(kind, id, event, ctx) {
      const entity = entityKey(kind, id)
      const known = pending.get(entity)
      const record = known?.record ?? recordFor(entity, ctx)
      const changes = roomIn(record, ctx)
      if (known?.changes === changes) {
        known.events.push(event)
        return
      }
      const events = [event]
      changes.counted.push({ entity, events })
      pending.set(entity, { record, changes, events })
    },
    addRepeat(kind, id, event, ctx) {
      const entity = entityKey(kind, id)
      roomIn(recordFor(entity, ctx), ctx).repeated.push({ entity, events: [event] })
    },
    addVerdict(kind, id, verdict, ctx) {
      const entity = entityKey(kind, id)
      roomIn(recordFor(entity, ctx), ctx).judged.push({ entity, ...verdict })
    },
    emitAll(ctx) {
      pending = new Map()
      for (const record of records) if (record !== undefined && record.parts > 0) emit(record, ctx)
    },
  }
}

function noChanges(): FraudChangedEntities {
  return { counted: [], repeated: [], judged: [] }
}
