import { expect, test } from 'vitest'
import { AS_OF_KEY } from '../../../../schemas/links/as-of.ts'
import type { LinkStats } from '../../../../schemas/links/types.ts'
import { LINK_STATS_VIEW, linkStatsView, readLinkStats } from '../../../../state/views/links/link-stats.ts'
import { NOT_CAUGHT_UP } from '../../../../state/views/view.ts'
import { fakeRedis } from '../fake-redis.ts'
import { NO_CLICKS } from '../no-clicks.ts'

const counted: LinkStats = {
  ...NO_CLICKS,
  as_of: 5,
  total_clicks: 3,
  bot_clicks: 1,
  hours: [{ start: 3_600_000, clicks: 3 }],
  referrers: [{ value: 'b.example', clicks: 2, over: 0 }],
}

test('statistics contain the time up to which their partition has been counted', async () => {
  const { reader, apply, caughtUp } = fakeRedis()
  caughtUp(LINK_STATS_VIEW, 2)
  apply(linkStatsView.operationsFor(1, 'abc1234', counted))
  apply(linkStatsView.operationsFor(1, AS_OF_KEY, { ...NO_CLICKS, as_of: 7 }))
  apply(linkStatsView.operationsFor(1, 'abc1234', { ...counted, total_clicks: 4 }))
  const { as_of: _, ...stats } = counted
  expect(await readLinkStats(reader, 1, 'abc1234')).toEqual({ asOf: 7, stats: { ...stats, total_clicks: 4 } })
  expect(await readLinkStats(reader, 1, 'never')).toEqual({ asOf: 7, stats: undefined })
})

test('the answer is NOT_CAUGHT_UP until the view is complete and has a time', async () => {
  const { reader, apply, caughtUp, flush } = fakeRedis()
  apply(linkStatsView.operationsFor(1, AS_OF_KEY, { ...NO_CLICKS, as_of: 7 }))
  expect(await readLinkStats(reader, 1, 'abc1234')).toBe(NOT_CAUGHT_UP)
  caughtUp(LINK_STATS_VIEW, 2)
  expect(await readLinkStats(reader, 1, 'abc1234')).toEqual({ asOf: 7, stats: undefined })
  expect(await readLinkStats(reader, 0, 'abc1234')).toBe(NOT_CAUGHT_UP)
  flush()
  expect(await readLinkStats(reader, 1, 'abc1234')).toBe(NOT_CAUGHT_UP)
})
