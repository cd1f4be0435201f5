import { WORLDWIDE } from '../../schemas/trends/places/regions.ts'
import type { ReadinessProbe } from '../kit/readiness.ts'
import { STALE_AFTER_MS, type TrendLists } from './lists.ts'
import { knownRegion } from './regions.ts'

const MS_PER_SECOND = 1_000

/**
 * Creates a probe that reports when the worldwide list is too old to be served. All lists are renewed at the same
 * times, so the others are then usually too old as well. The probe is optional, because other processes read the same
 * lists.
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
      if (newest === undefined || now() - newest <= STALE_AFTER_MS) return undefined
      return `the window of the newest worldwide list ended ${Math.round((now() - newest) / MS_PER_SECOND)} s ago`
    },
  }
}
