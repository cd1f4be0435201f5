import type { SnippetText } from '../../../schemas/snippets/types.ts'
import type { Purge } from '../purge.ts'
import { readRows, type TableReader } from '../reader.ts'
import type { Table } from '../table.ts'
import { isoMonth, isoTime, isoTimeOrNull } from '../time.ts'

/**
 * All snippets. The rows of public snippets contain the beginning of their content. Fed by `snippet-texts`. Read it
 * with FINAL, because the newest row of a snippet is the current one. Rows of deleted snippets have no text.
 */
export const snippetsTable: Table<string, SnippetText> = {
  name: 'snippets',
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
  orderBy: 'paste_id',
  partitionBy: 'toYYYYMM(created_at)',
  // Lets a search skip most granules that lack some of a word's trigrams.
  parts: ['INDEX searched_ngrams searched TYPE ngrambf_v1(3, 65536, 2, 0) GRANULARITY 4'],
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
 * When a snippet is deleted or expires, it gets a new row without any of its data. The new row erases the earlier row.
 */
export const snippetsPurge: Purge = { table: snippetsTable.name, key: 'paste_id', erases: 'is_deleted OR expires_at <= now64(3)' }

const SEARCH_SETTINGS = {
  /** ClickHouse aborts searches that take more seconds than this, and the API responds with 503. */
  max_execution_time: 3,
  use_skip_indexes_if_final: 1,
  /**
   * All rows of a snippet have the same creation time, so they are in the same partition. Comparing the rows of
   * different partitions would take a fifth of the search's CPU time.
   */
  do_not_merge_across_partitions_select_final: 1,
}

/**
 * Snippets with limited reads are excluded. Their rows have neither title nor text, but their language could match. The
 * condition compares only `searched`, so that the texts are not read from the disk a second time.
 */
const SEARCH_QUERY = `
SELECT paste_id, count() OVER () AS total
FROM snippets FINAL
WHERE visibility = 'public' AND NOT is_deleted AND searched != concat('\\n', lowerUTF8(language), '\\n')
  AND (expires_at IS NULL OR expires_at > fromUnixTimestamp64Milli({now:Int64}))
  AND arrayAll(word -> position(searched, word) > 0, {words:Array(String)}) AND searched LIKE {longest:String}
ORDER BY created_at DESC, paste_id
LIMIT {count:UInt32} OFFSET {from:UInt32}`

export interface SnippetSearch {
  /** Search words in lower case. A snippet must contain all of them. */
  readonly words: readonly string[]
  readonly from: number
  readonly count: number
  /** Epoch ms. */
  readonly now: number
}

/** Returns the ids of public snippets, newest first. `total` is 0 for a page after the last one. */
export async function searchSnippets(reader: TableReader, search: SnippetSearch): Promise<{ total: number; ids: string[] }> {
  const longest = search.words.reduce((a, b) => (b.length > a.length ? b : a), '')
  const { words, from, count, now } = search
  const params = { words: [...words], longest: `%${longest.replaceAll(/[\\%_]/g, '\\$&')}%`, from, count, now }
  const rows = await readRows<[id: string, total: number]>(reader, SEARCH_QUERY, params, SEARCH_SETTINGS)
  return { total: rows[0]?.[1] ?? 0, ids: rows.map(([id]) => id) }
}
