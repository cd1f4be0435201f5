import type { KeyedStore } from '../../../pipelines/engine/index.ts'
import type { TrendCandidate } from '../../../pipelines/trends/candidate.ts'
import type { RankedTerm } from '../../../pipelines/trends/ranking.ts'
import { type RegionReport, reportWriter } from '../../../pipelines/trends/region-report.ts'
import { type RegionReports, regionReports } from '../../../pipelines/trends/region-reports.ts'
import { NO_BASELINE } from '../../../pipelines/trends/term-state.ts'

/**
 * Creates region reports whose store is a map, so that a later worker can open the store again.
 * @param unknown called for each candidate whose details are missing
 */
export function reportsIn(rows: Map<string, RegionReport>, unknown: () => void = failing): RegionReports {
  const store = {
    put: (key: string, report: RegionReport) => void rows.set(key, report.copy()),
    delete: (key: string) => void rows.delete(key),
    scan: () => [...rows],
  }
  return regionReports(store as unknown as KeyedStore<string, RegionReport>, unknown)
}

function failing(): never {
  throw new Error('a report lacks the details of a candidate')
}

/** Ranks candidates as if a single partition had reported all of them. */
export function rankCandidates(candidates: readonly TrendCandidate[], meanOfNewTerms: number): RankedTerm[] {
  const writer = reportWriter()
  const isFresh = ({ baseline }: TrendCandidate) => baseline === NO_BASELINE
  for (const candidate of candidates.filter(isFresh)) writer.addNew(candidate)
  for (const candidate of candidates.filter((each) => !isFresh(each))) writer.addNew(candidate)
  const report = writer.finish({ woeid: 1, windowEnd: 0, partition: 0, missing: 0, restNew: 0, restKnown: 0 })
  return reportsIn(new Map()).rank([report], meanOfNewTerms)
}
