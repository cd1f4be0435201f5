import type { RecommendationContext } from '../../../schemas/recommendations/ranking/ranking-features.ts'
import type { EditorialList } from '../../../schemas/recommendations/types.ts'
import type { NewReleaseBoost } from '../rank/arrange.ts'

/** The editors' lists and rules, keyed by name. */
export type EditorialLists = ReadonlyMap<string, EditorialList>

/** Name of the boost rule. The default boost applies unless editors have set a rule with this name. */
export const NEW_RELEASES = 'new-releases'
export const DEFAULT_BOOST: NewReleaseBoost = { factor: 1.1, maxAgeDays: 30 }

/**
 * Yields the ids of the items in all lists that are in force for a context. The lists take turns in the order of their
 * names, so that the items of a long list do not displace those of the other lists. An item of several lists is yielded
 * several times.
 */
export function* placedByEditors(lists: EditorialLists, context: RecommendationContext, time: number): Generator<bigint> {
  const inForce = [...lists]
    .filter(([, list]) => list.kind === 'LIST' && isRunning(list, time) && (list.contexts.length === 0 || list.contexts.includes(context)))
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([, { item_ids }]) => item_ids)
  const longest = Math.max(0, ...inForce.map((ids) => ids.length))
  for (let place = 0; place < longest; place++) for (const ids of inForce) if (place < ids.length) yield ids[place]
}

/**
 * Returns the boost of new items: the editors' rule, or the default boost if there is no rule; undefined if the rule is
 * not in force at this time.
 */
export function boostByEditors(lists: EditorialLists, time: number): NewReleaseBoost | undefined {
  const rule = lists.get(NEW_RELEASES)
  if (rule === undefined) return DEFAULT_BOOST
  if (rule.kind !== 'NEW_RELEASE_BOOST' || !isRunning(rule, time)) return undefined
  // Programs other than the API may write invalid values. A factor of NaN would remove all new items from lists.
  const { factor, max_age_days: maxAgeDays } = rule
  if (!isUsable(factor) || !isUsable(maxAgeDays)) return DEFAULT_BOOST
  return { factor: factor ?? DEFAULT_BOOST.factor, maxAgeDays: maxAgeDays ?? DEFAULT_BOOST.maxAgeDays }
}

/** Returns whether a value is null or a finite number that is not negative. */
function isUsable(value: number | null): boolean {
  return value === null || (Number.isFinite(value) && value >= 0)
}

export function isRunning({ starts_at, ends_at }: Pick<EditorialList, 'starts_at' | 'ends_at'>, time: number): boolean {
  return (starts_at === null || starts_at <= time) && (ends_at === null || time < ends_at)
}
