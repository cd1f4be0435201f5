import { foldTerm } from '../../schemas/trends/term.ts'
import { readVolumes, type TableReader } from '../../state/tables/trends.ts'
import { type Answer, cacheableAnswer, JSON_TYPE } from '../kit/answer.ts'
import { shortCache } from '../kit/short-cache.ts'
import { type Resolution, stepsOf, zeroFilled } from './history-steps.ts'
import { knownRegion } from './regions.ts'

export interface HistoryQuery {
  readonly woeid: number
  readonly term: string
  readonly hours: number
  readonly resolution: Resolution
}

export interface HistoryOptions {
  readonly reader: TableReader
  /** Epoch ms. */
  now(): number
}

/** Many ask for what trends right now: one query per series and this time. */
const KEPT_MS = 5_000
const MAX_KEPT_SERIES = 256

/** The volume series of a term. */
export function history({ reader, now }: HistoryOptions): (query: HistoryQuery) => Promise<Answer> {
  const series = shortCache({ load, keptMs: () => KEPT_MS, maxEntries: MAX_KEPT_SERIES, now })

  async function load(key: string): Promise<Answer> {
    const { woeid, term, hours, resolution } = JSON.parse(key) as HistoryQuery
    // What cannot be a term was never counted: its series is all zero.
    const folded = foldTerm(term) ?? term
    const steps = stepsOf(now(), hours, resolution)
    const volumes = await readVolumes(reader, { woeid, term: folded, from: steps.from, to: steps.to, stepMs: steps.stepMs })
    const body = JSON.stringify({ term, woeid, resolution, data_points: zeroFilled(steps, volumes) })
    return cacheableAnswer(body, { 'Content-Type': JSON_TYPE, 'Cache-Control': 'public, max-age=60' })
  }

  return async function readHistory({ woeid, term, hours, resolution }) {
    const region = knownRegion(woeid)
    return await series.get(JSON.stringify({ woeid: region.woeid, term, hours, resolution }))
  }
}
