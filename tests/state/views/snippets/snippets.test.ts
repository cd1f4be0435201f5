import { expect, test } from 'vitest'
import type { Snippet } from '../../../../schemas/snippets/types.ts'
import {
  readBurntSnippet,
  readNewest,
  readSnippet,
  readSnippets,
  readUserSnippets,
  readVersions,
  snippetsView,
} from '../../../../state/views/snippets/snippets.ts'
import { NOT_CAUGHT_UP } from '../../../../state/views/view.ts'
import { fakeRedis } from '../fake-redis.ts'

const HOUR_MS = 3_600_000
const NOW = 1_700_000_000_000
const ID = 'abcd1234'

const snippet: Snippet = {
  paste_id: ID,
  user_id: 42n,
  username: 'alice',
  title: 'Title',
  language: 'go',
  content_size: 7,
  content_hash: 'h1',
  visibility: 'public',
  expires_at: null,
  created_at: NOW,
  view_count: 3,
  reads_left: null,
  predecessor: 'first123',
  root: 'first123',
  is_expired: false,
  is_deleted: false,
  gone_at: null,
  excerpt: '',
}
const erased = { user_id: null, username: null, title: null, content_hash: '', predecessor: null, root: null, gone_at: NOW }
const deleted: Snippet = { ...snippet, ...erased, is_deleted: true }

function world() {
  const redis = fakeRedis()
  const view = snippetsView(HOUR_MS)
  redis.caughtUp(view.name, 1)
  function write(value: Snippet | null, now = NOW) {
    const heldKey = view.heldKey?.(0, ID, value)
    const held = heldKey === undefined ? null : redis.held(heldKey)
    const operations = view.operationsFor(0, ID, value, { held, now })
    redis.apply(operations)
    return operations
  }
  async function listed(): Promise<string[]> {
    const { reader } = redis
    const lists = (['all', 'public'] as const).flatMap((scope) =>
      (['created', 'views', 'title'] as const).map((order) =>
        readUserSnippets(reader, 0, { user: '42', scope, order, descending: true, from: 0, count: 10 }),
      ),
    )
    const pages = [...(await Promise.all(lists)), await readNewest(reader, 1, 0, 10)]
    const totals = pages.map((page) => (typeof page === 'symbol' ? 'not caught up' : String(page.total)))
    const versions = await readVersions(reader, 0, 'first123')
    return [...totals, typeof versions === 'symbol' ? 'not caught up' : String(versions.length)]
  }
  return { ...redis, write, listed }
}

test.each([
  ['deleted', deleted],
  ['expired', { ...deleted, is_deleted: false, is_expired: true }],
  ['removed', null],
])('a %s snippet is removed from all lists, although its record does not name them', async (_what, gone) => {
  const { write, listed, reader, keys } = world()
  write(snippet)
  expect(await listed()).toEqual(Array(8).fill('1'))
  write(gone)
  expect(await listed()).toEqual(Array(8).fill('0'))
  expect(await readSnippet(reader, 0, ID)).toBeUndefined()
  expect(keys().filter((key) => key.includes(ID))).toEqual([])
})

test('the record of a burnt snippet remains for the time within which its last read can be repeated', async () => {
  const { write, reader } = world()
  const burnt: Snippet = { ...deleted, reads_left: 0 }
  write({ ...snippet, reads_left: 1 })
  const operations = write(burnt, NOW + HOUR_MS / 2)
  expect(operations).toContainEqual({ op: 'expire', key: `{snippets:0}:burnt:${ID}`, seconds: 1_800 })
  expect(await readBurntSnippet(reader, 0, ID)).toMatchObject({ id: ID, title: 'Title', username: 'alice', hash: 'h1' })

  const late = world()
  late.write({ ...snippet, reads_left: 1 })
  late.write(burnt, NOW + HOUR_MS)
  expect(await readBurntSnippet(late.reader, 0, ID)).toBeUndefined()
})

test('while the view is being filled, a look-up reports that the view has not caught up, whether or not the view already contains the snippet', async () => {
  const redis = fakeRedis()
  const { reader } = redis
  const view = snippetsView(HOUR_MS)
  const lookUps = () => Promise.all([readSnippet(reader, 0, ID), readSnippets(reader, [[0, ID]]), readVersions(reader, 0, 'first123')])
  const notCaughtUp = Array(3).fill(NOT_CAUGHT_UP)
  expect(await lookUps()).toEqual(notCaughtUp)
  redis.apply(view.operationsFor(0, ID, snippet))
  expect(await lookUps()).toEqual(notCaughtUp)
  redis.caughtUp(view.name, 1)
  const found = expect.objectContaining({ id: ID })
  expect(await lookUps()).toEqual([found, [found], [found]])
  expect(await readSnippet(reader, 0, 'unknown1')).toBeUndefined()
})

test('a page of the newest snippets merges all partitions, but reads only the snippets on the page', async () => {
  const redis = fakeRedis()
  const view = snippetsView(HOUR_MS)
  const partitions = 3
  redis.caughtUp(view.name, partitions)
  const all: { id: string; at: number }[] = []
  for (let number = 0; number < 90; number++) {
    const id = `snippet${number}`
    const at = NOW + Math.floor(number / 7)
    all.push({ id, at })
    redis.apply(view.operationsFor(number % partitions, id, { ...snippet, paste_id: id, created_at: at, visibility: 'public' }))
  }
  all.sort((a, b) => b.at - a.at || (a.id < b.id ? 1 : -1))
  const seen: string[] = []
  for (let from = 0; from < 90; from += 10) {
    const before = redis.state.reads
    const page = await readNewest(redis.reader, partitions, from, 10)
    if (typeof page === 'symbol') throw new Error('unexpected: the view has not caught up')
    seen.push(...page.snippets.map(({ id }) => id))
    expect([page.total, redis.state.reads - before]).toEqual([90, 3 * partitions + 10])
  }
  expect(seen).toEqual(all.map(({ id }) => id))
})
