import { AS_OF_KEY } from '../../../schemas/links/as-of.ts'
import type { Click, ClickDetails, ClickTotals, LinkStats, LinkVisitors } from '../../../schemas/links/types.ts'
import { type Context, deadLetter, type KeyedStore, type Outcome, type RecordContext, type Topic } from '../../engine/index.ts'
import type { ClickReader } from './click-details.ts'
import { addBatch, noClicks } from './click-totals.ts'
import { asOfRecord, linkStatsOf } from './link-stats.ts'
import { type ClickBatch, pendingClicks } from './pending-clicks.ts'
import { MAX_AHEAD_MS, timeOf } from './time.ts'
import { addVisitors, noVisitors } from './visitors.ts'

export interface ClickCountsOptions {
  /**
   * Returns the reader of clicks. Called only when records arrive, because a process that only declares the topology
   * has no reader.
   */
  readonly reader: () => ClickReader
  readonly totals: KeyedStore<string, ClickTotals>
  readonly visitors: KeyedStore<string, LinkVisitors>
  readonly details: Topic<string, ClickDetails>
  readonly stats: Topic<string, LinkStats>
}

export interface ClickCounts {
  prefetch(code: string): void
  count(click: Click, ctx: RecordContext<string>): Outcome
  /**
   * Sets the `as_of` time of the next commit. Must be called when that commit includes every click that was in the
   * source at `time`.
   */
  caughtUp(time: number): void
  /** Applies the collected clicks to the state, and emits statistics. */
  apply(ctx: Context): void
  /** Deletes the statistics of a link from the state and from the view. */
  forget(code: string, ctx: Context): void
}

/** The codes that stores, views and URLs support. The service has never issued codes of a different form. */
const SHORT_CODE = /^[0-9A-Za-z_-]{1,10}$/
/**
 * Maximum number of links with pending clicks. Their state is prefetched with the records, and must still be in the
 * stores' caches when the pending clicks are folded into it.
 */
const MAX_PENDING_LINKS = 1_000

export function clickCounts({ reader, totals, visitors, details, stats }: ClickCountsOptions): ClickCounts {
  const pending = pendingClicks()
  /** Links whose statistics have changed since the last commit. */
  let changed = new Set<string>()
  let asOf: number | undefined

  function count(click: Click, ctx: RecordContext<string>): Outcome {
    const { short_code, timestamp } = click
    if (!SHORT_CODE.test(short_code)) return deadLetter('invalid_short_code', 'short_code must be 1 to 10 letters, digits, - or _')
    if (short_code !== ctx.key)
      return deadLetter('wrong_key', 'the key must be the short_code, because one partition counts all clicks of a link')
    const time = timeOf(timestamp)
    if (Number.isNaN(time) || time < 0) return deadLetter('invalid_timestamp', 'timestamp must be a time in ISO 8601, and not before 1970')
    if (time > ctx.now + MAX_AHEAD_MS)
      return deadLetter('timestamp_in_the_future', `timestamp is ${time - ctx.now} ms ahead of the clock; correct the producer's clock`)
    const known = reader()(click, time)
    pending.add(known)
    ctx.emit(details, short_code, known)
    if (pending.size >= MAX_PENDING_LINKS) pending.drain(fold)
  }

  function fold(code: string, batch: ClickBatch): void {
    const counted = totals.get(code) ?? noClicks()
    addBatch(counted, batch)
    totals.put(code, counted)
    changed.add(code)
    if (batch.visitors.size === 0) return
    const seen = visitors.get(code) ?? noVisitors()
    if (addVisitors(seen, batch.visitors)) visitors.put(code, seen)
  }

  function apply(ctx: Context): void {
    pending.drain(fold)
    for (const code of changed) {
      const counted = totals.get(code) as ClickTotals
      ctx.emit(stats, code, linkStatsOf(counted, visitors.get(code) ?? noVisitors(), ctx.now))
    }
    changed = new Set()
    if (asOf === undefined) return
    // The time is emitted after the statistics to which it applies.
    ctx.emit(stats, AS_OF_KEY, asOfRecord(asOf), { partition: ctx.partition })
    asOf = undefined
  }

  return {
    prefetch(code) {
      totals.prefetch(code)
      visitors.prefetch(code)
    },
    count,
    caughtUp(time) {
      asOf = time
    },
    apply,
    forget(code, ctx) {
      pending.drain(fold)
      changed.delete(code)
      if (totals.get(code) === undefined) return
      totals.delete(code)
      visitors.delete(code)
      ctx.emit(stats, code, null)
    },
  }
}
