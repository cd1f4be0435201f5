import { ALL_USERS, ageGroup, countryGroup } from '../../../schemas/recommendations/signals/trend-groups.ts'
import type { TrendingItems } from '../../../schemas/recommendations/types.ts'
import type { RequestUser } from '../users/request-user.ts'

/** A group with fewer events says too little: docs/services/recommendations.md#trending */
const MIN_GROUP_EVENTS = 100

/** Returns the trending items of the user's age group, else those of the country, else those of everybody. */
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
