import { afterAll, beforeAll, expect, test } from 'vitest'
import type { SnippetText } from '../../../../schemas/snippets/types.ts'
import { dropEarlierSnippets, MOST_FOUND, searchSnippets, snippetsTable } from '../../../../state/tables/snippets/snippets.ts'
import { tableStore } from '../../../../state/tables/store.ts'
import { createDatabase, rowsOf } from '../database.ts'

const NOW = Date.UTC(2026, 5, 30, 12)
/** Milliseconds between two snippets. The snippets are spread over two months, so over two partitions of the table. */
const APART_MS = 900_000
const SNIPPETS = MOST_FOUND + 1_000
/** One of this many snippets contains the rare word. */
const RARE = 500
const WORDS = ['return x', '100%_sure', 'Zoë', 'ab', 'a_b', '{}', 'axb', 'ΟΔΟΣ', 'ΟΔΟΣΗΜΑ', 'Οδος', 'οδοι']

/** Returns snippet `number`. The highest number is the newest snippet. */
function snippet(number: number, given: Partial<SnippetText> = {}): SnippetText {
  return {
    paste_id: `id-${number}`,
    user_id: null,
    title: number % 10 === 0 ? 'Tenth' : '',
    language: 'go',
    content_size: 1,
    visibility: number % 7 === 0 ? 'unlisted' : 'public',
    created_at: NOW - (SNIPPETS - number) * APART_MS,
    expires_at: number % 11 === 0 ? NOW + (number % 2 === 0 ? 1_000 : -1_000) : null,
    is_deleted: false,
    text: `func f${number}() { ${WORDS[number % WORDS.length]} ${number % RARE === 0 ? 'zygomorphic' : ''} }`,
    ...given,
  }
}

let created: Awaited<ReturnType<typeof createDatabase>>
let offset = 0

async function insert(snippets: readonly SnippetText[]): Promise<void> {
  const store = tableStore(snippetsTable, created.client, { cluster: undefined })
  for (const month of Map.groupBy(snippets, (each) => snippetsTable.partitionOf(each.paste_id, each)).values()) {
    const rows = month.map((each) => ({ offset: offset++, row: snippetsTable.rowsOf(each.paste_id, each)[0] }))
    await store.insert({ topic: 'snippet-texts', partition: 0, rows })
  }
}

const all = Array.from({ length: SNIPPETS }, (_, number) => snippet(number))
/** Numbers of deleted snippets. Their earlier rows are still in the table. */
const deleted = new Set([2_999, 2_500, 1_500])

beforeAll(async () => {
  created = await createDatabase()
  const { client } = created
  await tableStore(snippetsTable, client, { cluster: undefined }).prepare()
  await client.command({ query: 'SYSTEM STOP MERGES snippet_texts' })
  await insert(all)
  // A sink repeats an insert whose answer was lost.
  await insert(all.slice(-100))
  await insert([...deleted].map((number) => snippet(number, { is_deleted: true, title: '', text: '' })))
})

afterAll(() => created.drop())

async function search(words: readonly string[], from = 0, count = MOST_FOUND) {
  return searchSnippets(created.client as never, { words, from, count, now: NOW })
}

function matching(words: readonly string[]): string[] {
  const found = all.filter((each, number) => {
    const isListed = each.visibility === 'public' && (each.expires_at ?? NOW + 1) > NOW && !deleted.has(number)
    const searched = `${each.title}\n${each.language}\n${each.text}`.toLowerCase()
    return isListed && words.every((word) => searched.replaceAll('ς', 'σ').includes(word.replaceAll('ς', 'σ')))
  })
  return found.map(({ paste_id }) => paste_id).reverse()
}

test.each([
  ['a word', ['return']],
  ['a rare word', ['zygomorphic']],
  ['a part of a word', ['gomor']],
  ['several words', ['tenth', 'return', 'go']],
  ['a word that no snippet has', ['nowhere']],
  ['wildcards', ['100%_sure']],
  ['an underscore that is not a wildcard', ['a_b']],
  ['letters outside ASCII', ['zoë']],
  ['words shorter than a trigram', ['ab', 'x']],
  ['punctuation', ['{}']],
  ['the end of a Greek word', ['οδος']],
])('a search finds exactly the public snippets with %s that are neither deleted nor expired, newest first', async (_what, words) => {
  const expected = matching(words)
  expect(expected.length).toBeLessThan(MOST_FOUND)
  expect(await search(words)).toEqual({ total: expected.length, ids: expected })
  expect(await search(words, 3, 3)).toEqual({ total: expected.length, ids: expected.slice(3, 6) })
  // A page after the last one has the same total.
  expect(await search(words, expected.length + 1, 3)).toEqual({ total: expected.length, ids: [] })
})

test('a search for a word that most snippets contain ends at the newest 2,000 snippets', async () => {
  const { total, ids } = await search(['func'])
  // Repeated rows, and the earlier rows of deleted snippets, count towards the limit.
  expect(total).toBeGreaterThan(MOST_FOUND - 110)
  expect(total).toBeLessThanOrEqual(MOST_FOUND)
  expect(ids).toEqual(matching(['func']).slice(0, total))
})

test('a search for a rare word reads at most as many granules as there are snippets that contain the word', async () => {
  const query = "EXPLAIN indexes = 1 SELECT paste_id FROM snippet_texts WHERE searched LIKE '%zygomorphic%'"
  const text = (await rowsOf<{ explain: string }>(created.client, query)).map(({ explain }) => explain).join('\n')
  const [, read, inAll] = /Name: searched_trigrams[\s\S]*?Granules: (\d+)\/(\d+)/.exec(text)!
  expect(Number(read)).toBeLessThanOrEqual(SNIPPETS / RARE)
  expect(Number(inAll)).toBeGreaterThan(SNIPPETS / RARE)
})

test('the table of earlier versions is dropped, because nothing erases snippets from it any more', async () => {
  const { client } = created
  await client.command({ query: 'CREATE TABLE snippets (paste_id String, text String) ENGINE = MergeTree ORDER BY paste_id' })
  expect(await dropEarlierSnippets(client, { cluster: undefined })).toBe(true)
  expect(await rowsOf(client, "SHOW TABLES LIKE 'snippets'")).toEqual([])
  expect(await dropEarlierSnippets(client, { cluster: undefined })).toBe(false)
})
