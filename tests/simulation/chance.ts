import { type Random, seededRandom } from '../../tools/random/random.ts'

/** An independent source of random decisions. */
export interface Chance {
  readonly random: Random
  /** Draws a number between `least` and `most`. */
  between(least: number, most: number): number
  /** Draws an integer from 0 to `count` - 1. */
  below(count: number): number
  one<T>(list: readonly T[]): T
}

export function chanceOf(seed: number): Chance {
  const random = seededRandom(seed)
  const below = (count: number) => Math.floor(random() * count)
  return { random, between: (least, most) => least + random() * (most - least), below, one: (list) => list[below(list.length)] }
}

const FNV_OFFSET = 0x811c9dc5
const FNV_PRIME = 0x01000193

/** Derives a seed for the given purpose from another seed. */
export function seedFor(seed: number, purpose: string): number {
  let hash = FNV_OFFSET ^ seed
  for (let i = 0; i < purpose.length; i++) hash = Math.imul(hash ^ purpose.charCodeAt(i), FNV_PRIME)
  return hash >>> 0
}
