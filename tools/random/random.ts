/** Returns numbers from 0 (inclusive) to 1 (exclusive). A seed determines the sequence. */
export type Random = () => number

const TWO_32 = 2 ** 32

/** Creates a mulberry32 generator. It is fast, has 32 bits of state, and is sufficient for generated data. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  return function next() {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / TWO_32
  }
}

/** Draws an integer from 0 to `below` - 1. */
export function integer(random: Random, below: number): number {
  return Math.floor(random() * below)
}

export function pick<T>(random: Random, choices: readonly T[]): T {
  return choices[integer(random, choices.length)]
}
