import { readRows, type TableReader } from '../reader.ts'
import type { VolumeRange } from './trend-volumes.ts'

const MS_PER_SECOND = 1_000

/**
 * The volumes of rare terms are in a separate table, so this query reads two tables, as does the query for a single
 * term (trend-volumes.ts).
 */
const QUERY = `
SELECT term, intDiv(toUnixTimestamp(minute), {step:UInt32}) * {step:UInt32} AS step_start, sum(most)
FROM (
  SELECT term, minute, adds_as, max(volume) AS most
  FROM (
    SELECT term, minute, '' AS adds_as, volume
    FROM trend_volumes
    WHERE woeid = {woeid:Int32} AND term IN {terms:Array(String)} AND minute >= toDateTime({from:UInt32}) AND minute < toDateTime({to:UInt32})
    UNION ALL
    SELECT term, minute, adds_as, toUInt64(volumes[indexOf(woeids, {woeid:Int32})]) AS volume
    FROM trend_rare_volumes
    WHERE term IN {terms:Array(String)} AND has(woeids, {woeid:Int32}) AND minute >= toDateTime({from:UInt32}) AND minute < toDateTime({to:UInt32})
  )
  GROUP BY term, minute, adds_as
)
GROUP BY term, step_start`

export interface TermsRange extends Omit<VolumeRange, 'term'> {
  /** Folded terms. */
  readonly terms: readonly string[]
}

/**
 * @returns volumes, keyed by term and then by the start of their step (epoch ms), without terms and steps that have no
 * events
 */
export async function readVolumesOfTerms(
  reader: TableReader,
  { woeid, terms, from, to, stepMs }: TermsRange,
): Promise<Map<string, Map<number, number>>> {
  const params = { woeid, terms, from: from / MS_PER_SECOND, to: to / MS_PER_SECOND, step: stepMs / MS_PER_SECOND }
  const rows = await readRows<[term: string, step: number, volume: number]>(reader, QUERY, params)
  const byTerm = new Map<string, Map<number, number>>()
  for (const [term, step, volume] of rows) {
    const volumes = byTerm.get(term) ?? new Map<number, number>()
    volumes.set(step * MS_PER_SECOND, volume)
    byTerm.set(term, volumes)
  }
  return byTerm
}
