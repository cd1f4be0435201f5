import { type EntityKind, entityKey } from '../../../schemas/fraud/entity.ts'
import type { FraudEntityChanges, FraudEntityVerdict, FraudEvent } from '../../../schemas/fraud/types.ts'
import type { Topic } from '../../../schemas/topic.ts'
import type { Context } from '../../engine/index.ts'

/**
 * Collects what happens to entities until the commit, so that an entity that takes part in thousands of transactions
 * causes one record.
 */
export interface EntityChanges {
  addEvent(kind: EntityKind, id: string, event: FraudEvent, ctx: Context): void
  /** A transaction that was counted before. The view may still hold it as in flight. */
  addRepeat(kind: EntityKind, id: string, event: FraudEvent, ctx: Context): void
  addVerdict(kind: EntityKind, id: string, verdict: FraudEntityVerdict, ctx: Context): void
  /** Must run before each commit. */
  emitAll(ctx: Context): void
}

/** Maximum number of parts of a record, about 400 KiB. */
const MOST_PARTS = 8_000

export function entityChanges(topic: Topic<string, FraudEntityChanges>): EntityChanges {
  let pending = new Map<string, FraudEntityChanges>()

  function changesOf(kind: EntityKind, id: string, ctx: Context): FraudEntityChanges {
    const key = entityKey(kind, id)
    const known = pending.get(key)
    if (known !== undefined && known.events.length + known.repeats.length + known.verdicts.length < MOST_PARTS) return known
    if (known !== undefined) emit(key, known, ctx)
    const next: FraudEntityChanges = { events: [], repeats: [], verdicts: [] }
    pending.set(key, next)
    return next
  }

  function emit(key: string, changes: FraudEntityChanges, ctx: Context): void {
    ctx.emit(topic, key, changes, { timestamp: ctx.now })
  }

  return {
    addEvent: (kind, id, event, ctx) => void changesOf(kind, id, ctx).events.push(event),
    addRepeat: (kind, id, event, ctx) => void changesOf(kind, id, ctx).repeats.push(event),
    addVerdict: (kind, id, verdict, ctx) => void changesOf(kind, id, ctx).verdicts.push(verdict),
    emitAll(ctx) {
      const due = pending
      pending = new Map()
      for (const [key, changes] of due) emit(key, changes, ctx)
    },
  }
}
