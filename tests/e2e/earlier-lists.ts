import { foldTerm, termKey } from '../../schemas/trends/term.ts'
import { aMinuteBefore, lastMinuteOf, mayLabel, usualIn } from '../pipelines/trends/offline.ts'
import type { PublishedList } from './log.ts'
import { NO_PAST, type Past } from './past.ts'

const HOUR_MINUTES = 60
/** Number of lists whose means are kept. The list of a minute earlier is one of them. */
const KEPT_LISTS = 4

/** The lowest and the highest possible value of a number that is not known exactly. */
export interface Bounds {
  least: number
  most: number
}

interface EarlierLists {
  firstList: number | undefined
  /** For each of the last lists, oldest first: the mean count of its terms without a baseline. */
  means: { readonly windowEnd: number; readonly mean: Bounds }[]
  /** For each term: the hour of the first list that contained the term. Its baseline is learned from then on. */
  readonly tracked: Map<string, number>
}

/** What the past and the published lists say about the next lists. */
export interface Earlier {
  /**
   * Returns the usual count of a term in a window; undefined if the term is new.
   * @param hourly returns the counts of the term by hour since 1970
   */
  usual(woeid: number, term: string, windowEnd: number, hourly: () => ReadonlyMap<number, number>): number | undefined
  /** Returns bounds for the mean with which the new terms of a list are compared. */
  meanOfNewTerms(woeid: number, windowEnd: number): Bounds
  mayLabel(woeid: number, windowEnd: number): boolean
  /**
   * Must be called with each list, in the order of the windows.
   * @param newTerms the possible counts of the terms without a baseline that the list contains, including variants
   */
  note(list: PublishedList, newTerms: readonly Bounds[]): void
}

/** @param past what the pipeline found when it started */
export function earlierLists(past: Past = NO_PAST): Earlier {
  const byRegion = new Map<number, EarlierLists>()

  function of(woeid: number): EarlierLists {
    const known = byRegion.get(woeid)
    if (known !== undefined) return known
    const history = past.histories.get(woeid)
    const means = (history?.moments ?? []).map(({ window_end, mean }) => ({ windowEnd: window_end, mean: { least: mean, most: mean } }))
    const added: EarlierLists = { firstList: history?.first_list, means, tracked: new Map() }
    byRegion.set(woeid, added)
    return added
  }

  return {
    usual(woeid, term, windowEnd, hourly) {
      const baseline = past.baselines.get(termKey(woeid, term))
      if (baseline !== undefined) return usualIn(baseline.counts, baseline.since, windowEnd)
      const since = of(woeid).tracked.get(term)
      // Whether a term has a usual count does not depend on its hourly counts. Computing these takes long, so this is
      // done only for terms that have a usual count.
      return usualIn(new Map(), since, windowEnd) === undefined ? undefined : usualIn(hourly(), since, windowEnd)
    },
    meanOfNewTerms: (woeid, windowEnd) => aMinuteBefore(of(woeid).means, windowEnd)?.mean ?? { least: 0, most: 0 },
    mayLabel: (woeid, windowEnd) => mayLabel(of(woeid).firstList, windowEnd),
    note({ woeid, window_end, missing_partitions, entries }, newTerms) {
      // An incomplete list changes nothing for later lists.
      if (missing_partitions > 0) return
      const region = of(woeid)
      if (entries.length > 0) region.firstList ??= window_end
      region.means = [...region.means, { windowEnd: window_end, mean: meanOf(newTerms) }].slice(-KEPT_LISTS)
      const hour = Math.floor(lastMinuteOf(window_end) / HOUR_MINUTES)
      for (const { term, variants } of entries) {
        for (const each of [term, ...variants.map((name) => foldTerm(name) ?? '')])
          if (!region.tracked.has(each)) region.tracked.set(each, hour)
      }
    },
  }
}

function meanOf(counts: readonly Bounds[]): Bounds {
  const sum = (of: (count: Bounds) => number) => counts.reduce((total, count) => total + of(count), 0)
  if (counts.length === 0) return { least: 0, most: 0 }
  return { least: sum(({ least }) => least) / counts.length, most: sum(({ most }) => most) / counts.length }
}
