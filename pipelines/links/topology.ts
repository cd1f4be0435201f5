import { linkFlow } from '../../schemas/links/flow.ts'
import { linkDeletions, userLinks } from '../../schemas/links/topics.ts'
import type { Link } from '../../schemas/links/types.ts'
import { avro, type Change, type Context, DECIDING, decideCommands, keyedStore, timerStore, topology, utf8 } from '../engine/index.ts'
import { decideLink } from './decide.ts'

/**
 * Interval at which expired links are marked. Marking may lag, because readers check the expiry times themselves:
 * docs/services/links.md#expiry
 */
const EXPIRE_EVERY_MS = 1_000
/**
 * Maximum number of links that one tick expires. Expiring this many takes a few milliseconds, during which commands
 * wait; the next tick continues. The number is nine times a partition's share of the peak in the performance target
 * (3,500 new links a second over 64 partitions). Expiry therefore keeps up even if every link expires.
 */
const EXPIRED_PER_TICK = 500

/** The only topology that assigns short codes and changes links. */
export const links = topology(
  'links',
  function declareLinks(t) {
    const records = keyedStore('records', { key: utf8, value: avro('links/Link') })
    const expiries = timerStore('expiries', { key: utf8 })

    function changed({ key, before, after }: Change<Link>, ctx: Context): void {
      if (after === undefined) return
      const due = after.is_deleted || after.is_expired ? null : after.expires_at
      if (due !== null) expiries.schedule(key, due)
      else if (before?.expires_at != null) expiries.cancel(key)
      if (after.is_deleted && after.analytics) ctx.emit(linkDeletions, key, { deleted_at: ctx.now }, { timestamp: ctx.now })
      if (after.user_id !== null) listForOwner(after, after.user_id, ctx)
    }

    const deciding = decideCommands(t, {
      flow: linkFlow,
      store: records,
      decide: decideLink,
      view: (link) => (link.is_deleted ? null : link),
      changed,
      emits: [userLinks, linkDeletions],
      stores: [expiries],
    })

    function expire(now: number, ctx: Context): void {
      for (const { key } of expiries.takeDue(now, EXPIRED_PER_TICK)) {
        const link = records.get(key)
        if (link !== undefined) deciding.change(key, { ...link, is_expired: true }, ctx)
      }
    }

    const { stores, emits } = deciding
    deciding.stream.tick('expire', { everyMs: EXPIRE_EVERY_MS, clock: 'wall', stores, emits }, expire)
  },
  DECIDING,
)

/**
 * Emits the newest record of a link. A sink builds the list of a user's links from these records. All links of a user
 * share a partition.
 */
function listForOwner(link: Link, userId: bigint, ctx: Context): void {
  const owner = String(userId)
  ctx.emit(userLinks, `${owner}:${link.short_code}`, link.is_deleted ? null : link, { partitionBy: owner, timestamp: ctx.now })
}
