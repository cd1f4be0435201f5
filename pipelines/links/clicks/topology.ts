import { clickDetails, clicks, linkDeletions, linkStats } from '../../../schemas/links/topics.ts'
import { avro, type Context, keyedStore, type Topology, timerStore, topology, utf8 } from '../../engine/index.ts'
import { clickCounts } from './click-counts.ts'
import type { ClickReader } from './click-details.ts'

/**
 * How long clicks are combined before a commit. The state of a popular link is then written only once per interval.
 * Statistics are delayed by the same time.
 */
const COMMIT_INTERVAL_MS = 1_000
/**
 * Interval at which a partition reports the time up to which it has counted all clicks. The interval adds at most 10 s
 * to the age of `as_of`, in addition to the delays of the commit and the sink. Each report costs a commit, even without
 * clicks.
 */
const AS_OF_EVERY_MS = 10_000
/**
 * Delay between the deletion of a link and the deletion of its statistics. Without the delay, clicks that are in flight
 * at the deletion would create new state. The link's owner sees no statistics in the meantime.
 */
const FORGET_AFTER_MS = 3_600_000
const FORGET_EVERY_MS = 10_000
/**
 * Maximum number of links whose statistics one tick deletes. This takes a few milliseconds, during which clicks wait.
 */
const FORGOTTEN_PER_TICK = 500

/**
 * Declares the topology that computes the details of each click and the statistics of each link.
 * @param reader returns the reader that all tasks of the process share, with its caches and its country database
 */
export function clicksTopology(reader: () => ClickReader): Topology {
  return topology(
    'clicks',
    function declareClicks(t) {
      const totals = keyedStore('totals', { key: utf8, value: avro('links/ClickTotals') })
      const visitors = keyedStore('visitors', { key: utf8, value: avro('links/LinkVisitors') })
      const deleted = timerStore('deleted', { key: utf8 })
      const counts = clickCounts({ reader, totals, visitors, details: clickDetails, stats: linkStats })
      const stores = [totals, visitors]
      t.source(clicks, { onError: { process: 'dead-letter', produce: 'dead-letter' } })
        .process('count-click', { stores, reads: (_click, code) => counts.prefetch(code), emits: [clickDetails] }, counts.count)
        .tick('tell-as-of', { everyMs: AS_OF_EVERY_MS, clock: 'caught-up' }, counts.caughtUp)
        .beforeCommit('send-stats', { stores, emits: [linkStats] }, counts.apply)
      t.source(linkDeletions)
        .process('note-deletion', { stores: [deleted] }, (deletion, ctx) =>
          deleted.schedule(ctx.key, deletion.deleted_at + FORGET_AFTER_MS),
        )
        .tick('forget-links', { everyMs: FORGET_EVERY_MS, clock: 'caught-up', stores: [...stores, deleted], emits: [linkStats] }, forget)

      // After a long stop, clicks from before or shortly after the deletion may still wait in the topic. If they were
      // counted after this tick, nothing would delete their statistics. The tick therefore uses the clock `caught-up`,
      // so that these clicks are counted first.
      function forget(now: number, ctx: Context): void {
        for (const { key } of deleted.takeDue(now, FORGOTTEN_PER_TICK)) counts.forget(key, ctx)
      }
    },
    { commitIntervalMs: COMMIT_INTERVAL_MS, commitWhenIdle: false },
  )
}
