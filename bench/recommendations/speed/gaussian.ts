import type { Random } from '../../../tools/random/random.ts'

/** Draws from the standard normal distribution with the Box-Muller transform. */
export function gaussian(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
}
