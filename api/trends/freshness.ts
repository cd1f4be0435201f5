import { WORLDWIDE } from '../../schemas/trends/places/regions.ts'
import type { ReadinessProbe } from '../kit/readiness.ts'
import { isStale, type TrendLists } from './lists.ts'
import { knownRegion } from './regions.ts'

const MS_PER_SECOND = 1_000

/**
 * Creates a probe that reports when the worldwide list is too old to be served, or its age is unknown. All lists are
 * renewed at the same times, so the others then usually cannot be served either. The probe is optional, because other
 * processes read the same lists.
 */
export function freshnessProbe(lists: Pick<TrendLists, 'servedEnd'>, now: () => number): ReadinessProbe {
  /** The newest list that this process has found. If Redis was emptied, the view may contain no list. */
  let newest: number | undefined
  return {
    name: 'trend lists',
    optional: true,
    async check() {
      // The probe of the view reports why the list cannot be read.
      const end = await lists.servedEnd(knownRegion(WORLDWIDE)).catch(() => undefined)
      newest = end ?? newest
      if (newest === undefined || !isStale(newest, now())) return undefined
      const seconds = Math.round((now() - newest) / MS_PER_SECOND)
      return seconds > 0
        ? `the window of the newest worldwide list ended ${seconds} s ago`
        : `the window of the newest worldwide list ends in ${-seconds} s, so the clock of its worker was ahead`
    },
  }
}
