import type { ClickHouseClient } from '@clickhouse/client'
import type { SnippetText } from '../../../schemas/snippets/types.ts'
import type { Purge } from '../purge.ts'
import { readRows, type TableReader } from '../reader.ts'
import { type ClusterOptions, ddlParts, type Table } from '../table.ts'
import { isoMonth, isoTime, isoTimeOrNull } from '../time.ts'

/** Maximum number of snippets that a search finds, so that a search for a common word ends early. */
export const MOST_FOUND = 2_000
/**
 * Number of rows per granule. A search for a rare word reads one granule per snippet that it finds: about 200 KB of
 * text, instead of the 6 MB of a granule of the default size.
 */
const GRANULE_ROWS = 256

/**
 * All snippets, sorted by time. The rows of public snippets with unlimited reads contain the title and the beginning of
 * the content. Fed by `snippet-texts`. Read it with FINAL, because the newest row of a snippet is the current one. All
 * rows of a snippet have the same creation time. Rows of snippets that are deleted or expired contain neither title nor
 * content.
 */
export const snippetsTable: Table<string, SnippetText> = {
  name: 'snippet_texts',
  columns: [
    'paste_id String',
    'user_id Nullable(Int64)',
    'title String',
    'language LowCardinality(String)',
    'content_size UInt32',
    'visibility LowCardinality(String)',
    "created_at DateTime64(3, 'UTC')",
    "expires_at Nullable(DateTime64(3, 'UTC'))",
    'is_deleted Bool',
    'text String',
    "searched String MATERIALIZED lowerUTF8(concat(title, '\\n', language, '\\n', text))",
  ],
  orderBy: '(created_at, paste_id)',
  partitionBy: 'toYYYYMM(created_at)',
  granuleRows: GRANULE_ROWS,
  // Lists the rows that contain each trigram, so that a search skips the granules in which no row has all trigrams of a
  // word.
  parts: ['INDEX searched_trigrams searched TYPE text(tokenizer = ngrams(3))'],
  rowsOf(_id, text) {
    if (text === null) return []
    const { user_id, created_at, expires_at, ...columns } = text
    return [
      {
        ...columns,
        user_id: user_id === null ? null : String(user_id),
        created_at: isoTime(created_at),
        expires_at: isoTimeOrNull(expires_at),
      },
    ]
  },
  partitionOf: (_id, { created_at }) => isoMonth(created_at),
}

/**
 * When a snippet is deleted or expires, it gets a new row without author, title and content. The new row erases the
 * earlier rows.
 */
export const snippetsPurge: Purge = { table: snippetsTable.name, key: 'paste_id', erases: 'is_deleted OR expires_at <= now64(3)' }

/** The table that earlier versions filled instead. Nothing erases its rows now. */
const EARLIER_TABLE = 'snippets'

/**
 * Deletes the table of earlier versions, which would keep the texts of deleted snippets. If a worker of such a version
 * starts later, it creates the table again and fills it from the topic.
 * @returns whether there was such a table
 */
export async function dropEarlierSnippets(client: ClickHouseClient, cluster: ClusterOptions): Promise<boolean> {
  const found = await client.query({
    query: 'SELECT name FROM system.tables WHERE database = currentDatabase() AND name = {name:String}',
    query_params: { name: EARLIER_TABLE },
    format: 'JSONEachRow',
  })
  if ((await found.json()).length === 0) return false
  await client.command({ query: `DROP TABLE IF EXISTS ${EARLIER_TABLE}${ddlParts(cluster).onCluster} SYNC` })
  return true
}

const SEARCH_SETTINGS = {
  /** Maximum duration of a search in seconds. ClickHouse aborts a longer search, and the API responds with 503. */
  max_execution_time: 3,
  /** All rows of a snippet have the same creation time, so they are in the same partition. */
  do_not_merge_across_partitions_select_final: 1,
}

/**
 * The inner query reads the newest rows first, and stops when it has found enough. It does not use FINAL, because FINAL
 * would read the rows in another order. Without FINAL, it also finds outdated rows of snippets that have been deleted
 * in the meantime. The outer query uses FINAL to drop these snippets, and has to merge only the few rows of the
 * snippets that were found.
 *
 * Snippets with limited reads are excluded. Their rows have neither title nor text, but their language could match. The
 * condition recognises them by `searched`, which the search reads anyway, so the columns `title` and `text` are not
 * read from the disk.
 */
function searchQuery(words: readonly (readonly string[])[]): string {
  const matches = words.map((patterns, index) => {
    const spellings = patterns.map((_, spelling) => `searched LIKE {${parameterOf(index, spelling)}:String}`)
    return `(${spellings.join(' OR ')})`
  })
  return `
SELECT paste_id, count() OVER () AS total
FROM snippet_texts FINAL
WHERE (created_at, paste_id) IN (
  SELECT created_at, paste_id
  FROM snippet_texts
  WHERE visibility = 'public' AND NOT is_deleted AND searched != concat('\\n', lowerUTF8(language), '\\n')
    AND (expires_at IS NULL OR expires_at > fromUnixTimestamp64Milli({now:Int64})) AND ${matches.join(' AND ')}
  ORDER BY created_at DESC, paste_id DESC
  LIMIT ${MOST_FOUND}
) AND NOT is_deleted
ORDER BY created_at DESC, paste_id DESC
LIMIT {count:UInt32} OFFSET {from:UInt32}`
}

export interface SnippetSearch {
  /** Search words in lower case, at least one. A snippet must contain all of them. */
  readonly words: readonly string[]
  readonly from: number
  readonly count: number
  /** Epoch ms. */
  readonly now: number
}

/** Returns the ids of public snippets, newest first. `total` is at most MOST_FOUND. */
export async function searchSnippets(reader: TableReader, search: SnippetSearch): Promise<{ total: number; ids: string[] }> {
  const { words, from, count, now } = search
  const patterns = words.map((word) => spellingsOf(word).map((spelling) => `%${spelling.replaceAll(/[\\%_]/g, '\\$&')}%`))
  const named = patterns.flatMap((all, index) => all.map((pattern, spelling) => [parameterOf(index, spelling), pattern]))
  const params = { ...Object.fromEntries(named), from, count, now }
  const rows = await readRows<[id: string, total: number]>(reader, searchQuery(patterns), params, SEARCH_SETTINGS)
  // Only rows contain the total, so the answer lacks it when the page is beyond the last row.
  if (rows.length === 0 && from > 0) return { total: (await searchSnippets(reader, { ...search, from: 0, count: 1 })).total, ids: [] }
  return { total: rows[0]?.[1] ?? 0, ids: rows.map(([id]) => id) }
}

function parameterOf(word: number, spelling: number): string {
  return `word${word}_${spelling}`
}

/**
 * Returns the spellings in lower case that a word may have in a text. A sigma has one form at the end of a Greek word
 * and another form elsewhere, and the word may be a part of a longer word.
 */
function spellingsOf(word: string): string[] {
  return /[σς]$/.test(word) ? [`${word.slice(0, -1)}ς`, `${word.slice(0, -1)}σ`] : [word]
}
