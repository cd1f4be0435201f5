import { LRUCache } from 'lru-cache'
import type { ListedItem } from './page-token.ts'

/** The last complete list of each user, for requests that find Redis away: docs/services/recommendations.md#degraded */
export interface LastLists {
  keep(userId: bigint, list: readonly ListedItem[]): void
  /** @returns undefined if there is none within 30 minutes */
  of(userId: bigint): readonly ListedItem[] | undefined
}

const MAX_USERS = 10_000
const VALID_MS = 30 * 60_000

/** @param now epoch ms */
export function lastLists(now: () => number): LastLists {
  const lists = new LRUCache<bigint, { readonly list: readonly ListedItem[]; readonly at: number }>({ max: MAX_USERS })
  return {
    // Items of an answer have more, such as features, which would keep those of all candidates: 100 KB per user.
    keep: (userId, list) => void lists.set(userId, { list: list.map(listedItem), at: now() }),
    of(userId) {
      const kept = lists.get(userId)
      return kept === undefined || now() - kept.at > VALID_MS ? undefined : kept.list
    },
  }
}

function listedItem({ itemId, score, recType, channel, sourceItemId }: ListedItem): ListedItem {
  return { itemId, score, recType, channel, sourceItemId }
}
