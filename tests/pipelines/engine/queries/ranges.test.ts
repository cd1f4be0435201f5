import { expect, test } from 'vitest'
import type { StatePage } from '../../../../pipelines/engine/queries/state-range.ts'
import { topology } from '../../../../pipelines/engine/topology/topology.ts'
import { utf8 } from '../../../../schemas/keys.ts'
import { rawValue } from '../../../../schemas/raw.ts'
import { keyedStore } from '../../../../state/stores/keyed-store.ts'
import { timerStore } from '../../../../state/stores/timer-store.ts'
import { bench, until } from '../harness.ts'
import { lines, numberTopic, wordCount, wordCounts } from '../words.ts'
import { hosted } from './hosted.ts'

/** The JSON form of a page. */
interface Page {
  readonly partition: number
  readonly entries: readonly { key: string; key_hex: string; value: number }[]
  readonly next: string | null
}

const WORDS = ['apple', 'apricot', 'banana', 'blackberry', 'cherry', 'cranberry', 'damson', 'elderberry', 'fig', 'grape']

test('a client that follows pages and redirects gets each key of all partitions once', async () => {
  const at = bench()
  const workers = [await hosted(at), await hosted(at)]
  at.send(lines, 'ann', WORDS.join(' '))
  await until(() => at.broker.groups.members('words').length === 2, 'both workers are members')
  for (const worker of workers) await worker.ready()
  await until(() => at.latest(wordCounts).size === WORDS.length, 'all words are counted')

  async function listed(path: string): Promise<{ keys: string[]; partitions: number[]; pages: number }> {
    const keys: string[] = []
    const partitions: number[] = []
    let pages = 0
    for (let next: string | null = path; next !== null; pages++) {
      // `fetch` follows the redirects to the worker that owns the partition.
      const page = (await (await fetch(workers[0].base + next)).json()) as Page
      keys.push(...page.entries.map(({ key }) => key))
      for (const { key_hex, key, value } of page.entries) expect([Buffer.from(key_hex, 'hex').toString(), value]).toEqual([key, 1])
      partitions.push(...page.entries.map(() => page.partition))
      next = page.next
    }
    return { keys, partitions, pages }
  }
  const all = async (path: string) => (await listed(path)).keys.toSorted()

  // Polls, because a reader of the output topic may be slightly ahead of the state.
  await expect.poll(() => all('/state/words/totals?limit=2')).toEqual(WORDS)
  const { keys, partitions, pages } = await listed('/state/words/totals?limit=2')
  expect(new Set(partitions)).toEqual(new Set([0, 1, 2]))
  expect(pages).toBeGreaterThanOrEqual(WORDS.length / 2)
  const inPartition = (partition: number) => keys.filter((_, index) => partitions[index] === partition)
  for (const partition of [0, 1, 2]) {
    expect(inPartition(partition)).toEqual(inPartition(partition).toSorted())
    expect(await listed(`/state/words/totals?partition=${partition}&limit=1`)).toMatchObject({ keys: inPartition(partition) })
    const reversed = await listed(`/state/words/totals?partition=${partition}&limit=1&reverse=1`)
    expect(reversed.keys).toEqual(inPartition(partition).toReversed())
  }
  expect(await all('/state/words/totals?prefix=ap&limit=1')).toEqual(['apple', 'apricot'])
  expect(await all('/state/words/totals?from=banana&to=damson')).toEqual(['banana', 'blackberry', 'cherry', 'cranberry'])
  expect(await all('/state/words/totals?from=banana&to=damson&limit=1&reverse=1')).toEqual(['banana', 'blackberry', 'cherry', 'cranberry'])
  expect(await all('/state/words/totals?prefix_hex=6372')).toEqual(['cranberry'])
  expect(await all('/state/words/totals?prefix=zzz')).toEqual([])
  expect(await all('/state/words/totals?from=damson&to=banana')).toEqual([])
})

const big = numberTopic('big', 1)
const BIG_BYTES = 300_000
const values = () => keyedStore('values', { key: utf8, value: rawValue(utf8) })
const timers = () => timerStore('timers', { key: utf8 })

/** Stores a value of 300 kB and a timer for each key. */
const bigRows = topology('big-rows', (t) => {
  const [rows, due] = [values(), timers()]
  t.source(big).process('store', { stores: [rows, due] }, (time, ctx) => {
    rows.put(ctx.key, ctx.key.repeat(BIG_BYTES))
    due.schedule(ctx.key, time)
  })
})

test('queries from code return typed pages, and a page ends early if its rows are large', async () => {
  const { worker, send } = bench()
  const running = await worker(bigRows)
  const keys = ['a', 'b', 'c', 'd', 'e', 'f']
  keys.forEach((key, index) => void send(big, key, index))
  await until(async () => (await running.queries?.get(timers(), 'f', { partition: 0 }))?.outcome === 'answered', 'the worker runs')
  await until(async () => {
    const answer = await running.queries!.get(timers(), 'f', { partition: 0 })
    return answer.outcome === 'answered' && answer.value === 5
  }, 'all rows are stored')

  const pages: StatePage<string, string>[] = []
  for (let after: Buffer | undefined; pages.length === 0 || after !== undefined; ) {
    const answer = await running.queries!.scan(values(), { partition: 0, after })
    if (answer.outcome !== 'answered') throw new Error(answer.outcome)
    pages.push(answer.value)
    after = answer.value.next
  }
  expect(pages.map(({ entries }) => entries.map(({ key }) => key))).toEqual([
    ['a', 'b', 'c', 'd'],
    ['e', 'f'],
  ])
  expect(pages[1].entries[0].value).toHaveLength(BIG_BYTES)

  // A timer store has rows by key, followed by rows by due time. Rows by due time must not be part of any range.
  const due = await running.queries!.scan(timers(), { partition: 0, gte: 'b', limit: 9 })
  if (due.outcome !== 'answered') throw new Error(due.outcome)
  expect(due.value.entries.map(({ key, value }) => [key, value])).toEqual([
    ['b', 1],
    ['c', 2],
    ['d', 3],
    ['e', 4],
    ['f', 5],
  ])
  expect(due.value.next).toBeUndefined()
  expect(due.state).toMatchObject({ role: 'active', partition: 0, behind: 0 })
  await expect(running.queries!.scan(timers(), { partition: 0, limit: 1.5 })).rejects.toMatchObject({ code: 'invalid_range' })
  await expect(running.queries!.scan(timers(), { partition: 1 })).rejects.toMatchObject({ code: 'invalid_partition' })
})

test('a page contains only committed entries, and its entries and its position belong to the same commit', async () => {
  const { worker, send } = bench()
  const counting = topology('counting', (t) => {
    const store = keyedStore('totals', { key: utf8, value: rawValue(utf8) })
    t.source(lines).process('count', { stores: [store] }, (line) => {
      for (const name of ['a', 'b', 'c']) store.put(name, line)
    })
  })
  const totals = keyedStore('totals', { key: utf8, value: rawValue(utf8) })
  const running = await worker(counting)
  await until(() => running.status().ready, 'the worker runs')
  let sent = 0
  await until(async () => {
    for (let i = 0; i < 20; i++) send(lines, 'ann', `${sent++}`)
    const partition = await partitionOfAnn()
    const answer = await running.queries!.scan(totals, { partition })
    if (answer.outcome !== 'answered') throw new Error(`the outcome of the query was ${answer.outcome}`)
    const written = answer.value.entries.map(({ value }) => value)
    const offset = answer.state.position.sources[0]?.offset ?? 0
    // Each record writes its number to all keys, and the number equals its offset.
    expect(written).toEqual(offset === 0 ? [] : Array(3).fill(`${offset - 1}`))
    return offset > 500
  }, 'queries during processing')

  async function partitionOfAnn(): Promise<number> {
    const answer = await running.queries!.get(totals, 'ann')
    return answer.outcome === 'answered' ? answer.state.partition : 0
  }
})

test('a range without keys has no entries and no next page', async () => {
  const at = bench()
  const { get, ready } = await hosted(at, {}, wordCount())
  await ready()
  const { status, body } = await get('/state/words/totals?partition=1')
  expect(status).toBe(200)
  expect(body).toMatchObject({ topology: 'words', store: 'totals', partition: 1, role: 'active', entries: [], next: null })
})

/** Stores a timer per key. */
const onlyTimers = topology('only-timers', (t) => {
  const due = timers()
  t.source(big).process('store', { stores: [due] }, (time, ctx) => due.schedule(ctx.key, time))
})

test('paging works even if keys exceed the maximum length of a key in a request', async () => {
  const at = bench()
  const { get, ready } = await hosted(at, {}, onlyTimers)
  await ready()
  const keys = ['a', 'b', 'c'].map((letter) => letter.repeat(5_000))
  keys.forEach((key, index) => void at.send(big, key, index))
  const listed = async () => {
    const found: string[] = []
    for (let path: string | null = '/state/only-timers/timers?limit=1'; path !== null; ) {
      const { status, body } = await get(path)
      expect(status).toBe(200)
      found.push(...(body as Page).entries.map(({ key }) => key))
      path = (body as Page).next
    }
    return found
  }
  await expect.poll(listed).toEqual(keys)
})

test.each([
  ['http://wörker→1.example', 307, /^http:\/\/xn--[^/]+\/state\/words\/totals\?partition=\d$/],
  ['http://no host', 503, null],
])(
  'if the worker that should answer a query has the address %s, the other worker responds with status %i',
  async (address, status, location) => {
    const at = bench()
    const asked = await hosted(at)
    const other = await hosted(at, { address })
    await until(() => at.broker.groups.members('words').length === 2, 'both workers are members')
    for (const worker of [asked, other]) await worker.ready()
    const answers = () => Promise.all([0, 1, 2].map((partition) => asked.get(`/state/words/totals?partition=${partition}`)))
    const there = async () => (await answers()).filter((answer) => answer.status !== 200).map((answer) => answer.status)
    await expect.poll(there).toContain(status)
    const redirect = (await answers()).find((answer) => answer.status === status)
    if (location === null) expect(redirect).toMatchObject({ location, body: { error: 'not_ready' } })
    else expect(redirect?.location).toMatch(location)
  },
)
