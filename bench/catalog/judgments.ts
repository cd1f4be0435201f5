import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { dataSet } from '../../scripts/data-sets.ts'

export interface JudgedQuery {
  readonly text: string
  /** Gain of each judged product, from 0 to 2: its judged relevance to the query, which ranges from 1 to 3, minus 1. */
  readonly gains: ReadonlyMap<string, number>
}

export interface Judgments {
  readonly titles: ReadonlyMap<string, string>
  readonly queries: readonly JudgedQuery[]
}

const COLUMNS = 5
const LEAST_RELEVANCE = 1
const ENTITIES: readonly (readonly [string, string])[] = [
  ['&lt;', '<'],
  ['&gt;', '>'],
  ['&quot;', '"'],
  ['&#39;', "'"],
  ['&nbsp;', ' '],
  ['&amp;', '&'],
]

/** Reads all titles, and the queries that have at least `leastJudgments` judgments. */
export function readJudgments(folder: string, leastJudgments: number): Judgments {
  const rows = rowsOf(gunzipSync(readFileSync(dataSet(folder, 'searchJudgments'))).toString()).slice(1)
  const titles = new Map<string, string>()
  const gains = new Map<string, Map<string, number>>()
  for (const [, product, title, query, relevance] of rows.filter((row) => row.length === COLUMNS)) {
    titles.set(product, withoutEntities(title))
    const judged = gains.get(query) ?? new Map<string, number>()
    judged.set(product, Number(relevance) - LEAST_RELEVANCE)
    gains.set(query, judged)
  }
  const queries = [...gains].filter(([, judged]) => judged.size >= leastJudgments)
  return { titles, queries: queries.map(([text, judged]) => ({ text: withoutEntities(text), gains: judged })) }
}

/** Replaces HTML entities. The data set contains them because its texts were copied from web pages. */
function withoutEntities(text: string): string {
  return ENTITIES.reduce((changed, [entity, character]) => changed.replaceAll(entity, character), text)
}

/** Parses CSV as specified in RFC 4180. */
function rowsOf(text: string): string[][] {
  const rows: string[][] = []
  let row: string[] = []
  for (const [, quoted, plain = '', end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/g)) {
    row.push(quoted?.replaceAll('""', '"') ?? plain)
    if (end === ',') continue
    rows.push(row)
    row = []
  }
  return rows
}
