import { LRUCache } from 'lru-cache'
import { isWithin } from '../kit/age.ts'
import type { People } from './people.ts'

/** A match that has not ended. */
export interface OpenMatch {
  readonly otherId: string
  /** Epoch ms. */
  readonly matchedAt: number
}

/**
 * Finds the matches of a user that are hidden because the profile of the other user is switched off or was deleted a
 * moment ago. The stored relations do not show which profiles are switched off. Reading the profiles of all matches for
 * every page would be costly, so the result is kept for a while.
 */
export interface HiddenMatches {
  /** Returns the ids of the hidden users. The caller adds users to this set if it cannot find their profiles. */
  of(userId: string, matches: readonly OpenMatch[]): Promise<Set<string>>
}

/**
 * How long a check stays valid. During this time, a user whose profile was switched on after the check stays hidden,
 * and `total` may still count a user whose profile was switched off after the check.
 */
const CHECKED_MS = 60_000
/** Maximum delay until a match appears in the view. Matches that may have appeared after a check are checked again. */
const MATCH_DELAY_MS = 600_000
/** Maximum number of users whose checks are kept. A check contains only the hidden users, who are few. */
const MAX_KEPT = 10_000
/** Maximum number of profiles that are read at once, so that they do not fill the memory. */
const PROFILES_AT_ONCE = 1_000

interface Checked {
  /** Epoch ms. */
  readonly at: number
  readonly hidden: Set<string>
}

export function hiddenMatches({ people, now }: { readonly people: Pick<People, 'listed'>; now(): number }): HiddenMatches {
  const kept = new LRUCache<string, Checked>({ max: MAX_KEPT })

  async function check(matches: readonly OpenMatch[], hidden: Set<string>): Promise<void> {
    for (let from = 0; from < matches.length; from += PROFILES_AT_ONCE) {
      const ids = matches.slice(from, from + PROFILES_AT_ONCE).map(({ otherId }) => otherId)
      const profiles = await people.listed(ids)
      for (const id of ids) if (!profiles.has(id)) hidden.add(id)
    }
  }

  return {
    async of(userId, matches) {
      const at = now()
      const known = kept.get(userId)
      if (known === undefined || !isWithin(known.at, CHECKED_MS, at)) {
        const checked: Checked = { at, hidden: new Set() }
        await check(matches, checked.hidden)
        kept.set(userId, checked)
        return checked.hidden
      }
      const since = known.at - MATCH_DELAY_MS
      await check(
        matches.filter(({ otherId, matchedAt }) => matchedAt > since && !known.hidden.has(otherId)),
        known.hidden,
      )
      return known.hidden
    },
  }
}
