import type { Channel } from '../candidates/candidate.ts'
import type { RecType } from '../candidates/generate.ts'

/** The machine-readable reason why an item is in a list. */
export interface Reason {
  readonly recType: RecType
  /** Set for `similar` and `because_you_watched`. */
  readonly sourceItemId: bigint | undefined
  readonly channel: Channel
}

/**
 * Returns the reason for an item.
 * @param isAbout whether the request asked for items that are similar to one item. Otherwise, the source item counts as
 * an item that the user has watched.
 */
export function reasonOf(channel: Channel, sourceItemId: bigint | undefined, isAbout: boolean): Reason {
  const isFromItem = sourceItemId !== undefined && (channel === 'neighbours' || channel === 'vector' || channel === 'category')
  if (isFromItem) return { recType: isAbout ? 'similar' : 'because_you_watched', sourceItemId, channel }
  const recType = channel === 'trending' || channel === 'popular' ? 'trending' : 'personalized'
  return { recType, sourceItemId: undefined, channel }
}

/**
 * Returns the text for a reason: docs/services/recommendations.md#explanations
 * @param source title of the source item
 * @param liked returns the value of the preference that the item meets; '' if it is not known
 */
export function explanationOf({ recType, channel }: Reason, source: string | undefined, liked: () => string): string {
  if (recType === 'similar') return source === undefined ? 'Similar to the item that you are viewing' : `Similar to “${source}”`
  if (recType === 'because_you_watched') return source === undefined ? 'Because of what you watched' : `Because you watched “${source}”`
  if (channel === 'trending') return 'Trending now'
  if (channel === 'popular') return 'Popular'
  if (channel === 'editorial') return 'Picked by our editors'
  if (channel === 'exploration') return 'New, and we think that you may like it'
  const value = channel === 'preference' ? liked() : ''
  return value === '' ? 'Recommended for you' : `Because you like ${value}`
}
