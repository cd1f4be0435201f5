import type { Random } from './random.ts'

/** Draws an index with a probability proportional to the index's weight. */
export type WeightedPick = (random: Random) => number

/** Prepares draws with Vose's alias method. One draw takes two random numbers, regardless of the number of weights. */
export function weightedPick(weights: readonly number[]): WeightedPick {
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  const scaled = weights.map((weight) => (weight * weights.length) / total)
  const alias = new Uint32Array(weights.length)
  const small: number[] = []
  const large: number[] = []
  for (const [index, weight] of scaled.entries()) (weight < 1 ? small : large).push(index)
  while (small.length > 0 && large.length > 0) {
    const less = small.pop() as number
    const more = large.pop() as number
    alias[less] = more
    scaled[more] -= 1 - scaled[less]
    if (scaled[more] < 1) small.push(more)
    else large.push(more)
  }
  for (const index of [...small, ...large]) scaled[index] = 1
  return function draw(random) {
    const index = Math.floor(random() * scaled.length)
    return random() < scaled[index] ? index : alias[index]
  }
}

/** Computes weights by Zipf's law: the k-th weight is 1 / k^exponent. */
export function zipfWeights(count: number, exponent: number): number[] {
  return Array.from({ length: count }, (_, rank) => 1 / (rank + 1) ** exponent)
}
