import type { RecommendationItem, StatedPreference } from '../../../schemas/recommendations/types.ts'
import { genreOf } from './genre.ts'

/**
 * A property that a preference can name: an attribute with its value, or a category. A trait is stored as a hash of 32
 * bits, so about one in 500 million items meets a preference by mistake.
 */
export type Trait = number

type Described = Pick<RecommendationItem, 'attributes' | 'category_path'>

/** Maximum number of traits that are kept per item, which take 32 bytes. */
export const MAX_TRAITS = 8
/** No item has this trait. */
export const NO_TRAIT: Trait = 0
/**
 * Names of attributes with which a preference refers to the genre of an item. Lists are mixed by the same genre.
 */
const GENRE_NAMES: ReadonlySet<string> = new Set(['genre', 'genres'])
const CATEGORY_NAME = 'category'
const FNV_OFFSET = 0x811c_9dc5
const FNV_PRIME = 0x0100_0193

export function isAboutGenre({ category }: Pick<StatedPreference, 'category'>): boolean {
  return GENRE_NAMES.has(category)
}

/** Returns the trait for a name and a value, computed with FNV-1a. */
export function traitOf(name: string, value: string): Trait {
  let hash = FNV_OFFSET
  for (const byte of Buffer.from(`${name}\0${value}`)) hash = Math.imul(hash ^ byte, FNV_PRIME)
  return hash >>> 0 || 1
}

/** Returns the traits of an item: its categories, and then its attributes, sorted by name. */
export function traitsOf(item: Described): Trait[] {
  return pairsOf(item).map(([name, value]) => traitOf(name, value))
}

/** Returns the value of the strongest preference that an item meets; undefined if it meets none. */
export function metPreference(preferences: readonly StatedPreference[], item: Described): string | undefined {
  const pairs = pairsOf(item)
  const genre = genreOf(item)
  const meets = (stated: StatedPreference) =>
    (isAboutGenre(stated) && stated.value === genre) || pairs.some(([name, value]) => name === stated.category && value === stated.value)
  const met = preferences.filter((stated) => stated.weight > 0 && meets(stated))
  return met.sort((one, other) => other.weight - one.weight)[0]?.value
}

function pairsOf({ attributes, category_path: path }: Described): (readonly [string, string])[] {
  const first = path.split('/')[0]
  const categories = path === '' ? [] : first === path ? [first] : [first, path]
  const named = Object.entries(attributes).filter(([name]) => name !== 'genres')
  named.sort(([one], [other]) => (one < other ? -1 : 1))
  return [...categories.map((category) => [CATEGORY_NAME, category] as const), ...named].slice(0, MAX_TRAITS)
}
