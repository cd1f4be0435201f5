import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RecommendationItem } from '../../../schemas/recommendations/types.ts'
import { dataSet } from '../../../scripts/data-sets.ts'

export interface Rating {
  readonly user: number
  readonly item: number
  readonly stars: number
  /** Time of the rating, in seconds since the epoch. */
  readonly at: number
}

/** Reads the ratings of MovieLens, sorted by time, user and item. */
export function readRatings(folder: string): Rating[] {
  const [, ...lines] = readFileSync(join(dataSet(folder, 'movieLens'), 'ml-100k.inter'), 'utf8')
    .trim()
    .split('\n')
  const ratings = lines.map((line) => {
    const [user, item, stars, at] = line.split('\t').map(Number)
    return { user, item, stars, at }
  })
  return ratings.sort((one, other) => one.at - other.at || one.user - other.user || one.item - other.item)
}

/** Reads the titles, genres and years of the films. Returns them by film id. */
export function readFilms(folder: string): Map<bigint, RecommendationItem> {
  const [, ...lines] = readFileSync(join(dataSet(folder, 'movieLens'), 'ml-100k.item'), 'utf8')
    .trim()
    .split('\n')
  return new Map(lines.map((line) => itemOf(line.split('\t'))))
}

function itemOf([id, title, year, genres = '']: readonly string[]): [bigint, RecommendationItem] {
  const attributes: Record<string, string> = { genres: genres.trim().split(' ').join('|'), year: year ?? '' }
  const times = { created_at: 0, updated_at: 0 }
  const item = {
    title,
    description: '',
    category_path: '',
    attributes,
    popularity: 0,
    thumbnail_url: null,
    status: 'ACTIVE',
    ...times,
  } as const
  return [BigInt(id), item]
}
