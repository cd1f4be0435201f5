import type { KeyedStore } from '../engine/index.ts'
import { byRank, KEPT_TERMS, RankedTerm } from './ranking.ts'
import type { RegionReport, ReportReference } from './region-report.ts'

/** One region's reports from one partition of the terms, oldest first. */
type OfPartition = RegionReport[]

/** The reports from which the lists are created. */
export interface RegionReports {
  take(report: RegionReport): void
  /** Returns a region's reports about a window, one from each partition that has reported the window. */
  ofWindow(woeid: number, windowEnd: number): RegionReport[]
  /**
   * Returns the first `KEPT_TERMS` terms of a region, ordered by score, then by term.
   * @param reports the region's reports about one window
   * @param meanOfNewTerms the mean count of the terms without a baseline in the region's list of a minute ago; used as
   * the usual count of every term without a baseline
   */
  rank(reports: readonly RegionReport[], meanOfNewTerms: number): RankedTerm[]
  /**
   * Must be called when the list that was made from these reports is published. For each of these reports, deletes the
   * reports of the same region and partition that are older than the oldest report to which it refers.
   */
  published(reports: readonly RegionReport[]): void
}

/**
 * Returns the key of a report. Partitions progress independently, so one partition may report the next window before
 * another partition has reported the current window. Each report has a separate key and is stored once, as it was
 * received.
 */
function keyOf({ woeid, partition, windowEnd }: RegionReport): string {
  return `${woeid}:${partition}:${windowEnd}`
}

/**
 * Keeps each report as long as later reports may refer to its details. The bytes of the kept reports stay in memory,
 * because a list usually takes most of its details from earlier reports.
 * @param unknown called for each candidate whose details are missing
 */
export function regionReports(store: KeyedStore<string, RegionReport>, unknown: () => void): RegionReports {
  const byRegion = new Map<number, Map<number, OfPartition>>()
  let loaded = false

  function load(): void {
    loaded = true
    for (const [, report] of store.scan()) remember(report.copy())
  }

  function remember(report: RegionReport): void {
    const { woeid, partition, windowEnd } = report
    const partitions = byRegion.get(woeid) ?? new Map<number, OfPartition>()
    byRegion.set(woeid, partitions)
    const reports = partitions.get(partition) ?? []
    partitions.set(partition, reports)
    let place = reports.length
    while (place > 0 && reports[place - 1].windowEnd > windowEnd) place--
    // Without transactions, a partition may repeat a report after a crash.
    const repeats = place > 0 && reports[place - 1].windowEnd === windowEnd
    if (repeats) reports[place - 1] = report
    else reports.splice(place, 0, report)
  }

  function partitionsOf(woeid: number): ReadonlyMap<number, OfPartition> {
    if (!loaded) load()
    return byRegion.get(woeid) ?? new Map()
  }

  function referred({ woeid, partition }: RegionReport, { windowEnd, id }: ReportReference): RegionReport | undefined {
    return partitionsOf(woeid)
      .get(partition)
      ?.find((report) => report.windowEnd === windowEnd && report.id === id)
  }

  return {
    take(report) {
      if (!loaded) load()
      const copy = report.copy()
      store.put(keyOf(copy), copy)
      remember(copy)
    },
    ofWindow(woeid, windowEnd) {
      return [...partitionsOf(woeid).values()].flatMap((reports) => reports.findLast((report) => report.windowEnd === windowEnd) ?? [])
    },
    rank(reports, meanOfNewTerms) {
      const ranked: RankedTerm[] = []
      for (const report of reports) {
        const sources = new Map(report.references.map((reference) => [reference, referred(report, reference)]))
        report.eachEntry((entry, reference, at) => {
          const source = reference === undefined ? report : sources.get(reference)
          if (source === undefined) unknown()
          else ranked.push(new RankedTerm(entry, meanOfNewTerms, source.buffer, source.detailsAt + at))
        })
      }
      // Each report is in order already, so there is little to sort.
      return ranked.sort(byRank).slice(0, KEPT_TERMS)
    },
    published(reports) {
      for (const { woeid, partition, oldest } of reports) {
        const known = byRegion.get(woeid)?.get(partition) ?? []
        while (known.length > 0 && known[0].windowEnd < oldest) {
          const [first] = known.splice(0, 1)
          store.delete(keyOf(first))
        }
      }
    },
  }
}
