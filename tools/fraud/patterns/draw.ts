import type { Random } from '../../random/random.ts'

/** Draws a number from `low` (inclusive) to `high` (exclusive). */
export function between(random: Random, low: number, high: number): number {
  return low + random() * (high - low)
}

/** Draws an integer from `low` to `high`, both inclusive. */
export function integerBetween(random: Random, low: number, high: number): number {
  return low + Math.floor(random() * (high - low + 1))
}

export function isDrawn(random: Random, share: number): boolean {
  return random() < share
}

/** Draws from the standard normal distribution with the Box-Muller transform. */
export function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
}

/** Rounds to cents. */
export function cents(amount: number): number {
  return Math.round(amount * 100) / 100
}
