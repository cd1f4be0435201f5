import type { RecommendationItem, StatedPreference } from '../../../schemas/recommendations/types.ts'
import { genreOf } from './genre.ts'

/**
 * A property that a preference can name: an attribute with its value, or a category. A trait is a hash of 32 bits, so
 * about one in 500 million items matches a preference by mistake.
 */
export type Trait = number

type Described = Pick<RecommendationItem, 'attributes' | 'category_path'>

/** Maximum number of traits per item. They take 32 bytes. */
export const MAX_TRAITS = 8
/** A value that is not the trait of any item. */
export const NO_TRAIT: Trait = 0
/** Categories of preferences that refer to the genre of an item, as `genreOf` returns it. */
const GENRE_NAMES: ReadonlySet<string> = new Set(['genre', 'genres'])
const CATEGORY_NAME = 'category'
const FNV_OFFSET = 0x811c_9dc5
const FNV_PRIME = 0x0100_0193
const FIRST_BEYOND_ASCII = 0x80

export function isAboutGenre({ category }: Pick<StatedPreference, 'category'>): boolean {
  return GENRE_NAMES.has(category)
}

/** Returns the trait for a name and a value, computed with FNV-1a. */
export function traitOf(name: string, value: string): Trait {
  const separated = Math.imul(hashed(FNV_OFFSET, name), FNV_PRIME)
  return hashed(separated, value) >>> 0 || 1
}

/** Continues a hash with the UTF-8 bytes of a text. Only texts with non-ASCII characters are encoded. */
function hashed(start: number, text: string): number {
  let hash = start
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code >= FIRST_BEYOND_ASCII) return hashedBytes(start, text)
    hash = Math.imul(hash ^ code, FNV_PRIME)
  }
  return hash
}

function hashedBytes(start: number, text: string): number {
  let hash = start
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, FNV_PRIME)
  return hash
}

/**
 * Returns the first MAX_TRAITS traits of an item: its categories, and then its attributes except `genres`, sorted by
 * name.
 */
export function traitsOf(item: Described): Trait[] {
  const traits: Trait[] = []
  for (const [name, value] of pairsOf(item)) traits.push(traitOf(name, value))
  return traits
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

function pairsOf({ attributes, category_path: path }: Described): readonly (readonly [string, string])[] {
  const slash = path.indexOf('/')
  const pairs: (readonly [string, string])[] = []
  if (slash >= 0) pairs.push([CATEGORY_NAME, path.slice(0, slash)])
  if (path !== '') pairs.push([CATEGORY_NAME, path])
  for (const name of Object.keys(attributes).sort()) if (name !== 'genres') pairs.push([name, attributes[name]])
  if (pairs.length > MAX_TRAITS) pairs.length = MAX_TRAITS
  return pairs
}
