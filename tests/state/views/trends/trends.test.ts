import fc from 'fast-check'
import { expect, test } from 'vitest'
import { listBytesOf } from '../../../../schemas/trends/trend-list-bytes.ts'
import type { TrendOutput } from '../../../../schemas/trends/types.ts'
import {
  type CandidateList,
  candidateText,
  readCandidates,
  readServed,
  renderEntries,
  SERVED_ENTRIES,
  type ServedList,
  TRENDS_VIEW,
  trendsView,
  versionOf,
} from '../../../../state/views/trends/trends.ts'
import { missingPartitions, NOT_CAUGHT_UP } from '../../../../state/views/view.ts'
import { entry } from '../entries.ts'
import { fakeRedis } from '../fake-redis.ts'

const MINUTE_MS = 60_000
const WINDOW_END = Date.UTC(2026, 0, 15, 12)

function list(more: Partial<TrendOutput> = {}): TrendOutput {
  return { woeid: 1, window_end: WINDOW_END, source: 'pipeline', missing_partitions: 0, entries: [entry('a')], ...more }
}

function view() {
  const redis = fakeRedis()
  redis.caughtUp(TRENDS_VIEW, 4)
  return {
    ...redis,
    write: (record: TrendOutput, partition = 3) => redis.apply(trendsView.operationsFor(partition, record.woeid, listBytesOf(record))),
  }
}

test('a list that is too old to be served is not written, so that a rebuild of the view does not write all lists of the last hour', () => {
  const operations = (age: number) => trendsView.operationsFor(3, 1, listBytesOf(list()), { held: null, now: WINDOW_END + age })
  expect(operations(6 * MINUTE_MS)).toEqual([])
  // Readers whose clocks are behind may still serve this list.
  expect(operations(4 * MINUTE_MS)).toEqual(operations(-5 * MINUTE_MS))
  expect(operations(4 * MINUTE_MS)).not.toEqual([])
})

test('an entry is rendered with the documented field names, and ids as strings', async () => {
  const { reader, write } = view()
  write(
    list({
      entries: [
        entry('café au lait', {
          name: 'Café #1',
          label: null,
          variants: ['#café', 'a "latte"'],
          related: ['tea'],
          typical_tweet: 9_007_199_254_740_993n,
        }),
      ],
    }),
  )
  const served = await readServed(reader, 3, 1)
  expect(served).toMatchObject({ windowEnd: WINDOW_END })
  expect(JSON.parse(renderEntries((served as ServedList).entries))).toEqual([
    {
      rank: 1,
      name: 'Café #1',
      query: 'Caf%C3%A9%20%231',
      term: 'café au lait',
      tweet_volume: 10,
      volume_24h: 100,
      velocity: 1.5,
      velocity_vs_usual: 4,
      label: null,
      trending_since: '2026-01-15T11:59:00.000Z',
      sample_tweets: ['1234567890123456789', '2'],
      rank_change: -3,
      peak_rank: 1,
      lang: 'pt',
      users: 9,
      variants: ['#café', 'a "latte"'],
      related: ['tea'],
      typical_tweet: '9007199254740993',
    },
  ])
})

test('names and terms with any characters are read back unchanged; at most 30 entries are served, and all entries are candidates', async () => {
  const text = fc.string({ unit: 'binary', minLength: 1 }).filter((each) => each.isWellFormed())
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(text, { maxLength: 60 }), async (terms) => {
      const { reader, write } = view()
      write(list({ entries: terms.map((term, index) => entry(term, { name: `${term}!`, score: 1 / (index + 1) })) }))
      const served = (await readServed(reader, 3, 1)) as ServedList
      const rendered = JSON.parse(renderEntries(served.entries)) as { rank: number; name: string }[]
      expect(rendered.map(({ name }) => name)).toEqual(terms.slice(0, SERVED_ENTRIES).map((term) => `${term}!`))
      expect(rendered.map(({ rank }) => rank)).toEqual(rendered.map((_, index) => index + 1))
      const { candidates } = (await readCandidates(reader, 3, 1)) as CandidateList
      expect(candidates.map(({ term, score }) => [term, score])).toEqual(terms.map((term, index) => [term, 1 / (index + 1)]))
      expect(candidates.slice(0, SERVED_ENTRIES).map(candidateText)).toEqual(served.entries)
    }),
  )
})

test.each([[[]], [[1n]], [[1n, 2n, 3n]]])(
  'a candidate with the sample tweets %s is rendered like the served entry',
  async (sample_tweets) => {
    const { reader, write } = view()
    const topic = { variants: ['#A', 'tab\t"a"'], related: ['b'], typical_tweet: 7n }
    const more = sample_tweets.length === 0 ? { label: null } : { label: 'Viral', ...topic }
    write(list({ entries: [entry('a', { sample_tweets, velocity: 1 / 3, ...more })] }))
    const { entries } = (await readServed(reader, 3, 1)) as ServedList
    const { candidates } = (await readCandidates(reader, 3, 1)) as CandidateList
    expect(candidates.map(candidateText)).toEqual(entries)
    expect(candidates[0].variants).toEqual(sample_tweets.length === 0 ? [] : ['a', 'tab\t"a"'])
  },
)

test('a candidate may lack its rank change, its peak rank, its language and its number of users', async () => {
  const { reader, write } = view()
  write(list({ entries: [entry('a', { rank_change: null, peak_rank: null, lang: null, users: null })] }))
  const { candidates } = (await readCandidates(reader, 3, 1)) as CandidateList
  expect(JSON.parse(`{${candidateText(candidates[0])}`)).toMatchObject({ rank_change: null, peak_rank: null, lang: null, users: null })
})

test('candidates that a different version of the program has stored are not read, and a new list replaces them', async () => {
  const { reader, write, apply } = view()
  const value = Buffer.from([0, 0, 1, 2, 3, 4])
  apply([{ op: 'setIfNewer', key: '{trends:3}:list:1', version: 1, value }])
  expect(await readCandidates(reader, 3, 1)).toBeUndefined()
  write(list({ missing_partitions: 2 }))
  expect(await readCandidates(reader, 3, 1)).toMatchObject({ windowEnd: WINDOW_END, missing: 2, candidates: [{ term: 'a' }] })
})

test('a known list is read again only if it has changed', async () => {
  const { reader, state, write, flush } = view()
  write(list())
  const first = (await readServed(reader, 3, 1)) as ServedList
  const before = state.reads
  expect(await readServed(reader, 3, 1, first)).toBe(first)
  expect(state.reads - before).toBe(2)
  write(list({ source: 'endpoint', entries: [entry('b')] }))
  const second = (await readServed(reader, 3, 1, first)) as ServedList
  expect(second.entries[0]).toContain('"term":"b"')
  expect(second.version).not.toBe(first.version)
  flush()
  expect(await readServed(reader, 3, 1, second)).toBe(NOT_CAUGHT_UP)
})

test('the newer window wins regardless of the order of arrival, and of two lists of one window, the posted list wins', async () => {
  const versions: Partial<TrendOutput>[] = [
    { window_end: WINDOW_END - MINUTE_MS, source: 'endpoint' },
    { window_end: WINDOW_END, source: 'pipeline' },
    { window_end: WINDOW_END, source: 'endpoint' },
    { window_end: WINDOW_END + MINUTE_MS / 2, source: 'pipeline' },
  ]
  await fc.assert(
    fc.asyncProperty(fc.shuffledSubarray(versions, { minLength: 1 }), async (order) => {
      const { reader, write } = view()
      for (const more of order) write(list({ ...more, entries: [entry(`${more.window_end} ${more.source}`)] }))
      const best = order.toSorted((one, other) => versionOf(other as TrendOutput) - versionOf(one as TrendOutput))[0]
      const served = (await readServed(reader, 3, 1)) as ServedList
      expect(served.windowEnd).toBe(best.window_end)
      expect(served.entries[0]).toContain(`"term":"${best.window_end} ${best.source}"`)
      const { candidates } = (await readCandidates(reader, 3, 1)) as CandidateList
      expect(candidates[0].term).toBe(`${best.window_end} ${best.source}`)
    }),
  )
})

test('an empty list, a region without a list, and a view that has not caught up are distinguished', async () => {
  const { reader, write, flush } = view()
  write(list({ entries: [] }))
  expect(await readServed(reader, 3, 1)).toMatchObject({ windowEnd: WINDOW_END, entries: [] })
  expect(await readCandidates(reader, 3, 1)).toMatchObject({ windowEnd: WINDOW_END, candidates: [] })
  expect(renderEntries([])).toBe('[]')
  expect(await readServed(reader, 3, 2)).toBeUndefined()
  expect(await readCandidates(reader, 3, 2)).toBeUndefined()
  expect(await missingPartitions(reader, TRENDS_VIEW, 4)).toEqual([])
  flush()
  expect(await readServed(reader, 3, 1)).toBe(NOT_CAUGHT_UP)
  expect(await readCandidates(reader, 3, 1)).toBe(NOT_CAUGHT_UP)
  expect(await missingPartitions(reader, TRENDS_VIEW, 4)).toEqual([0, 1, 2, 3])
})

test('all keys of a partition have the same hash tag, so that one call applies a batch together with its offset', () => {
  for (const { key } of trendsView.operationsFor(2, 1, listBytesOf(list())) as { key: string }[]) expect(key).toMatch(/^\{trends:2\}:/)
})
