import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { dataSet } from '../../../scripts/data-sets.ts'

export interface Rating {
  readonly user: number
  readonly item: number
  readonly stars: number
  /** Epoch seconds. */
  readonly at: number
}

/** Reads the ratings of MovieLens in order of time, then user, then item. */
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
