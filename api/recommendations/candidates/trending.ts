import { ALL_USERS, ageGroup, countryGroup } from '../../../schemas/recommendations/signals/trend-groups.ts'
import type { TrendingItems } from '../../../schemas/recommendations/types.ts'
import type { RequestUser } from '../users/request-user.ts'

/** Minimum number of events of a group. Fewer events say too little: docs/services/recommendations.md#trending */
const MIN_GROUP_EVENTS = 100

/**
 * Returns the items that are trending in the user's age group. If the age group has too few events, returns the items
 * that are trending in the user's country, or else among all users.
 */
export function trendingFor(
  listOf: (group: string) => TrendingItems | undefined,
  { country, ageBucket }: Pick<RequestUser, 'country' | 'ageBucket'>,
): readonly bigint[] {
  const groups = [ageBucket === undefined ? undefined : ageGroup(ageBucket), country === undefined ? undefined : countryGroup(country)]
  for (const group of groups) {
    const list = group === undefined ? undefined : listOf(group)
    if (list !== undefined && list.events >= MIN_GROUP_EVENTS && list.item_ids.length > 0) return list.item_ids
  }
  return listOf(ALL_USERS)?.item_ids ?? []
}
