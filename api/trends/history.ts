import { foldTerm } from '../../schemas/trends/term.ts'
import { trendRareVolumes, trendVolumes } from '../../schemas/trends/topics.ts'
import { caughtUpPartitions } from '../../state/tables/catch-ups.ts'
import type { TableReader } from '../../state/tables/reader.ts'
import { trendRareVolumesTable } from '../../state/tables/trends/trend-rare-volumes.ts'
import { readVolumes, trendVolumesTable } from '../../state/tables/trends/trend-volumes.ts'
import { type Answer, JSON_TYPE, largeCacheableAnswer } from '../kit/answer.ts'
import { ApiError, errors } from '../kit/errors.ts'
import type { Facts } from '../kit/facts.ts'
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
  readonly facts: Pick<Facts, 'partitionsOf'>
  /** Epoch ms. */
  now(): number
}

/** How long a series is cached. Many callers ask for the same trending terms. */
const KEPT_MS = 5_000
const MAX_KEPT_SERIES = 256
const RETRY_AFTER_SECONDS = 5

/** Reads the volume series of terms. */
export function history({ reader, facts, now }: HistoryOptions): (query: HistoryQuery) => Promise<Answer> {
  const series = shortCache({ load, keptMs: KEPT_MS, maxEntries: MAX_KEPT_SERIES, now })

  async function load(key: string): Promise<Answer> {
    const { woeid, term, hours, resolution } = JSON.parse(key) as HistoryQuery
    // Text that is not a valid term was never counted, so its series is all zeros.
    const folded = foldTerm(term) ?? term
    const steps = stepsOf(now(), hours, resolution)
    const volumes = await readVolumes(reader, { woeid, term: folded, from: steps.from, to: steps.to, stepMs: steps.stepMs })
    await mustBeWhole()
    const body = JSON.stringify({ term, woeid, resolution, data_points: zeroFilled(steps, volumes) })
    return await largeCacheableAnswer(body, { 'Content-Type': JSON_TYPE, 'Cache-Control': 'public, max-age=60' })
  }

  /**
   * Runs after the series is read. If a table was dropped and recreated in between, the check sees the new table,
   * which has not caught up.
   */
  async function mustBeWhole(): Promise<void> {
    const [frequent, rare] = await Promise.all([
      caughtUpPartitions(reader, trendVolumesTable.name),
      caughtUpPartitions(reader, trendRareVolumesTable.name),
    ])
    if (frequent >= facts.partitionsOf(trendVolumes) && rare >= facts.partitionsOf(trendRareVolumes)) return
    const message = 'The history is still being built. Try again shortly.'
    throw new ApiError(errors.not_ready, { message, retryAfter: RETRY_AFTER_SECONDS })
  }

  return async function readHistory({ woeid, term, hours, resolution }) {
    const region = knownRegion(woeid)
    return await series.get(JSON.stringify({ woeid: region.woeid, term, hours, resolution }))
  }
}
