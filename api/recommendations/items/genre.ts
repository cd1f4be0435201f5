import type { RecommendationItem } from '../../../schemas/recommendations/types.ts'

type Described = Pick<RecommendationItem, 'attributes' | 'category_path'>

/** Splits a list of genres such as `Action|Comedy` or `Action, Comedy`. */
function genresOf(text: string): string[] {
  return text
    .split(/[|,]/)
    .map((genre) => genre.trim())
    .filter((genre) => genre !== '')
}

/**
 * Returns the genre of an item, which the limit per genre uses: the first genre, or else the first part of the category
 * path; '' if there is neither.
 */
export function genreOf({ attributes, category_path }: Described): string {
  return genresOf(attributes.genres ?? '')[0] ?? category_path.split('/')[0]
}

/** Returns the properties that two items share, such as `genre: Comedy`. */
export function sharedAttributes(one: Described, other: Described): string[] {
  const genres = new Set(genresOf(other.attributes.genres ?? ''))
  const shared = genresOf(one.attributes.genres ?? '')
    .filter((genre) => genres.has(genre))
    .map((genre) => `genre: ${genre}`)
  if (one.category_path !== '' && one.category_path === other.category_path) shared.push(`category: ${one.category_path}`)
  for (const [name, value] of Object.entries(one.attributes)) {
    if (name !== 'genres' && other.attributes[name] === value) shared.push(`${name}: ${value}`)
  }
  return shared
}
