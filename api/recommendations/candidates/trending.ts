import { decay, HALF_LIFE_MS } from '../../../schemas/recommendations/signals/half-lives.ts'
import { ALL_USERS, ageGroup, countryGroup } from '../../../schemas/recommendations/signals/trend-groups.ts'
import type { TrendingItems } from '../../../schemas/recommendations/types.ts'
import type { RequestUser } from '../users/request-user.ts'

/** Minimum number of events in a group. Fewer events are not meaningful: docs/services/recommendations.md#trending */
const MIN_GROUP_EVENTS = 100

export interface TrendingLists {
  listOf(group: string): TrendingItems | undefined
  /** Returns whether an item may be recommended. */
  isActive(itemId: bigint): boolean
}

/**
 * Returns the items that are trending in the user's age group. If the age group has too few events or no active items,
 * returns the items that are trending in the user's country, or else among all users.
 * @param now epoch ms
 */
export function trendingFor(
  { listOf, isActive }: TrendingLists,
  { country, ageBucket }: Pick<RequestUser, 'country' | 'ageBucket'>,
  now: number,
): readonly bigint[] {
  const groups = [ageBucket === undefined ? undefined : ageGroup(ageBucket), country === undefined ? undefined : countryGroup(country)]
  for (const group of groups) {
    const list = group === undefined ? undefined : listOf(group)
    if (list !== undefined && eventsAt(list, now) >= MIN_GROUP_EVENTS && list.item_ids.some(isActive)) return list.item_ids
  }
  return listOf(ALL_USERS)?.item_ids ?? []
}

/**
 * Returns the decayed number of events in a group. The list of a group without new events is not published again, so
 * readers compute the decay themselves.
 */
function eventsAt({ events, at }: TrendingItems, now: number): number {
  return events * decay(Math.max(0, now - at), HALF_LIFE_MS.trending)
}
