import { foldTerm } from '../../schemas/trends/term.ts'
import type { TableReader } from '../../state/tables/reader.ts'
import { readVolumes } from '../../state/tables/trends/trend-volumes.ts'
import { type Answer, JSON_TYPE, largeCacheableAnswer } from '../kit/answer.ts'
import type { Facts } from '../kit/facts.ts'
import { shortCache } from '../kit/short-cache.ts'
import { pointsJson, type Resolution, stepsOf } from './history-steps.ts'
import { knownRegion } from './regions.ts'
import { historyMustBeWhole } from './whole-history.ts'

export interface HistoryQuery {
  readonly woeid: number
  readonly term: string
  readonly hours: number
  readonly resolution: Resolution
}

export interface HistoryOptions {
  readonly reader: TableReader
  readonly facts: Pick<Facts, 'partitionsOf'>
  /** Epoch ms. */
  now(): number
}

/** How long a series is cached. Many callers request the same trending terms. */
const KEPT_MS = 5_000
const MAX_KEPT_SERIES = 256

/** Returns a function that reads the volume series of a term. */
export function history({ reader, facts, now }: HistoryOptions): (query: HistoryQuery) => Promise<Answer> {
  const series = shortCache({ load, keptMs: KEPT_MS, maxEntries: MAX_KEPT_SERIES, now })

  async function load(key: string): Promise<Answer> {
    const { woeid, term, hours, resolution } = JSON.parse(key) as HistoryQuery
    // A string that is not a valid term was never counted, so all volumes of its series are 0.
    const folded = foldTerm(term) ?? term
    const steps = stepsOf(now(), hours, resolution)
    const volumes = await readVolumes(reader, { woeid, term: folded, from: steps.from, to: steps.to, stepMs: steps.stepMs })
    await historyMustBeWhole(reader, facts)
    const points = pointsJson(steps, volumes)
    const body = `{"term":${JSON.stringify(term)},"woeid":${woeid},"resolution":"${resolution}","data_points":${points}}`
    return await largeCacheableAnswer(body, { 'Content-Type': JSON_TYPE, 'Cache-Control': 'public, max-age=60' })
  }

  return async function readHistory({ woeid, term, hours, resolution }) {
    const region = knownRegion(woeid)
    return await series.get(JSON.stringify({ woeid: region.woeid, term, hours, resolution }))
  }
}
