import { randomInt } from 'node:crypto'

/** The last known state of a counter, as in a reading. `atUs` is the store's time of this state. */
export interface KnownCounter {
  readonly held: number
  readonly heldBefore: number
  /** µs since 1970. */
  readonly atUs: number
}

/** Remembers recently updated counters, in a fixed amount of memory. */
export interface RecentCounters {
  find(key: string): KnownCounter | undefined
  set(key: string, held: number, heldBefore: number, atUs: number): void
  forget(key: string): void
}

/**
 * Number of slots. Together, they take 2 MB. Even with twice as many callers as slots, two in five callers are known.
 */
const SLOTS = 65_536
/** Fields of a slot: the key's hash (0 for an empty slot), `held`, `heldBefore` and `atUs`. */
const NUMBERS_PER_SLOT = 4
/** Exclusive upper bound of the hash seed. */
const MAX_SEED = 0x1_0000_0000

/**
 * Creates a hash table in which a new key replaces the previous key in its slot. Under load, many answers of the store
 * cause a write, so a write allocates nothing and computes one hash. A key is mistaken for the key in its slot with a
 * probability of 1 in 65,536. Nobody can cause such a mistake on purpose, because every process hashes differently.
 */
export function recentCounters(slots: number = SLOTS): RecentCounters {
  const numbers = new Float64Array(slots * NUMBERS_PER_SLOT)
  const seed = randomInt(MAX_SEED)

  /** Returns the FNV-1a hash with a random start value. The result is never 0. */
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
