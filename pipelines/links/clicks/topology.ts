import { clickDetails, clicks, linkDeletions, linkStats } from '../../../schemas/links/topics.ts'
import { avro, keyedStore, type Topology, timerStore, topology, utf8 } from '../../engine/index.ts'
import { clickCounts } from './click-counts.ts'
import type { ClickReader } from './click-details.ts'

/** Clicks are put together for so long before the state is touched: it bounds how often a hot link is written, and delays it as much. */
const COMMIT_INTERVAL_MS = 1_000
/** How often a partition says up to when it is counted; `as_of` is so much older at most, beside the commit and the sink. Each time costs a commit, also without clicks. */
const AS_OF_EVERY_MS = 10_000
/** Clicks from before a deletion are still under way behind it: they would count the link anew. Its owner sees nothing of it any more. */
const FORGET_AFTER_MS = 3_600_000
const FORGET_EVERY_MS = 10_000
/** A tick holds up clicks: this many take some milliseconds. */
const FORGOTTEN_PER_TICK = 500

/**
 * Clicks → what each tells, and statistics per link.
 * @param reader one for all tasks: its caches and the country database serve all partitions of the process
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
      t.source(clicks)
        .process('count-click', { stores, reads: (_click, code) => counts.prefetch(code), emits: [clickDetails] }, counts.count)
        .tick('tell-as-of', { everyMs: AS_OF_EVERY_MS, clock: 'caught-up' }, counts.caughtUp)
        .beforeCommit('send-stats', { stores, emits: [linkStats] }, counts.apply)
      t.source(linkDeletions)
        .process('note-deletion', { stores: [deleted] }, (deletion, ctx) =>
          deleted.schedule(ctx.key, deletion.deleted_at + FORGET_AFTER_MS),
        )
        .tick('forget-links', { everyMs: FORGET_EVERY_MS, clock: 'wall', stores: [...stores, deleted], emits: [linkStats] }, (now, ctx) => {
          for (const { key } of deleted.takeDue(now, FORGOTTEN_PER_TICK)) counts.forget(key, ctx)
        })
    },
    { commitIntervalMs: COMMIT_INTERVAL_MS, commitWhenIdle: false },
  )
}
