import { blocklistKey } from '../../../schemas/fraud/blocklist/entity.ts'
import { blocklistFlow } from '../../../schemas/fraud/blocklist/flow.ts'
import { fraudBlocklist } from '../../../schemas/fraud/blocklist/topics.ts'
import { fraudAudit } from '../../../schemas/fraud/topics.ts'
import type { FraudBlocklistCommand, FraudBlocklistEntry } from '../../../schemas/fraud/types.ts'
import { avro, type Change, type Context, DECIDING, decideCommands, keyedStore, timerStore, topology, utf8 } from '../../engine/index.ts'
import { decideBlocklist, hasExpired } from './decide.ts'

/**
 * Interval at which expired entries are removed. Removal may lag, because readers check the expiry times themselves.
 */
const EXPIRE_EVERY_MS = 1_000
/**
 * Maximum number of entries that one tick removes. Removing this many takes a few milliseconds, during which commands
 * wait; the next tick continues.
 */
const EXPIRED_PER_TICK = 500
/** The actor in the audit record when an expired entry is removed. */
const SYSTEM = 'system'

/**
 * The only topology that changes the blocklist. An entry, its record for readers and its audit record are written in
 * one transaction.
 */
export const fraudBlocklistTopology = topology(
  'fraud-blocklist',
  function declareBlocklist(t) {
    const entries = keyedStore('entries', { key: utf8, value: avro('fraud/FraudBlocklistEntry') })
    const expiries = timerStore('expiries', { key: utf8 })

    function changed(change: Change<FraudBlocklistEntry, FraudBlocklistCommand>, ctx: Context): void {
      const { key, after } = change
      if (after?.expires_at != null) expiries.schedule(key, after.expires_at)
      else expiries.cancel(key)
      publish(change, ctx)
    }

    const deciding = decideCommands(t, {
      flow: blocklistFlow,
      store: entries,
      decide: decideBlocklist,
      view: (entry) => entry,
      changed,
      emits: [fraudBlocklist, fraudAudit],
      stores: [expiries],
    })

    function expire(now: number, ctx: Context): void {
      for (const { key } of expiries.takeDue(now, EXPIRED_PER_TICK)) {
        const entry = entries.get(key)
        if (entry !== undefined && hasExpired(entry, now)) deciding.change(key, null, ctx)
      }
    }

    const { stores, emits } = deciding
    deciding.stream.tick('expire', { everyMs: EXPIRE_EVERY_MS, clock: 'wall', stores, emits }, expire)
  },
  DECIDING,
)

function publish({ command, before, after }: Change<FraudBlocklistEntry, FraudBlocklistCommand>, ctx: Context): void {
  const entry = after ?? before
  if (entry === undefined) return
  ctx.emit(fraudBlocklist, blocklistKey(entry), after ?? null, { timestamp: ctx.now })
  const change = {
    subject: `blocklist:${entry.entry_id}`,
    action: command?.action ?? 'expire',
    actor: command?.actor ?? SYSTEM,
    at: ctx.now,
    version: null,
    before: auditText(before),
    after: auditText(after),
  }
  ctx.emit(fraudAudit, change.subject, change, { timestamp: ctx.now })
}

function auditText(entry: FraudBlocklistEntry | undefined): string | null {
  return entry === undefined ? null : JSON.stringify(entry)
}
