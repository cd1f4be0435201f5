import { randomInt } from 'node:crypto'

/** The last known state of a counter, as in a reading, and the store's time of this state. */
export interface KnownCounter {
  readonly held: number
  readonly heldBefore: number
  /** µs since 1970. */
  readonly atUs: number
}

/** Remembers the counters that were used last, in fixed memory. */
export interface RecentCounters {
  find(key: string): KnownCounter | undefined
  set(key: string, held: number, heldBefore: number, atUs: number): void
  forget(key: string): void
}

/**
 * Number of slots, which take two million bytes. With twice as many callers, more than half of them are still known.
 */
const SLOTS = 65_536
/** The key's hash (0 for an empty slot), `held`, `heldBefore` and `atUs`. */
const NUMBERS_PER_SLOT = 4
/** Exclusive upper bound. */
const MAX_SEED = 0x1_0000_0000

/**
 * Creates a hash table in which a new key replaces the previous one in its slot. Every decision writes to it, so it
 * allocates nothing and hashes once. A key is mistaken for the one in its slot with a probability of 1 in 65,536;
 * nobody can cause this on purpose, because every process hashes differently.
 */
export function recentCounters(slots: number = SLOTS): RecentCounters {
  const numbers = new Float64Array(slots * NUMBERS_PER_SLOT)
  const seed = randomInt(MAX_SEED)

  /** Returns the FNV-1a hash with a random start value. It is never 0. */
  function hashOf(key: string): number {
    let hash = seed
    for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193)
    return hash === 0 ? 1 : hash
  }

  const slotOf = (hash: number) => ((hash ^ (hash >>> 16)) & (slots - 1)) * NUMBERS_PER_SLOT

  return {
    find(key) {
      const hash = hashOf(key)
      const at = slotOf(hash)
      if (numbers[at] !== hash) return undefined
      return { held: numbers[at + 1], heldBefore: numbers[at + 2], atUs: numbers[at + 3] }
    },
    set(key, held, heldBefore, atUs) {
      const hash = hashOf(key)
      const at = slotOf(hash)
      numbers[at] = hash
      numbers[at + 1] = held
      numbers[at + 2] = heldBefore
      numbers[at + 3] = atUs
    },
    forget(key) {
      const hash = hashOf(key)
      const at = slotOf(hash)
      if (numbers[at] === hash) numbers[at] = 0
    },
  }
}
