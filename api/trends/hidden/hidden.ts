import type { BlockedTerms } from './blocked-terms.ts'
import { isUnsafe } from './unsafe.ts'

/** Decides which terms are left out of lists: docs/services/trends.md#hidden-terms */
export interface HiddenTerms {
  /** Increases whenever the set of hidden terms changes. */
  readonly revision: number
  /**
   * Returns a function that returns whether a folded term is hidden; undefined if no term is hidden. Throws ApiError
   * `not_ready` while the blocked terms are unknown, because a list must not show a blocked term.
   * @param safe whether unsafe terms are hidden as well
   */
  test(safe: boolean): ((term: string) => boolean) | undefined
}

export function hiddenTerms(blocked: Pick<BlockedTerms, 'entries' | 'revision'>): HiddenTerms {
  return {
    get revision() {
      return blocked.revision
    },
    test(safe) {
      const { entries } = blocked
      if (safe) return (term) => entries.has(term) || isUnsafe(term)
      return entries.size === 0 ? undefined : (term) => entries.has(term)
    },
  }
}
