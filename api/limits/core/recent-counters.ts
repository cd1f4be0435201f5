import { randomInt } from 'node:crypto'

/** What is known of a counter: what it holds, as in a reading, and the store's time of that. */
export interface KnownCounter {
  readonly held: number
  readonly heldBefore: number
  /** µs since 1970. */
  readonly atUs: number
}

/** The counters that were used last, in fixed memory. */
export interface RecentCounters {
  find(key: string): KnownCounter | undefined
  set(key: string, held: number, heldBefore: number, atUs: number): void
  forget(key: string): void
}

/** Two million bytes. Of twice as many callers, more than half are still known. */
const SLOTS = 65_536
/** The key's hash (0 for an empty slot), `held`, `heldBefore` and `atUs`. */
const NUMBERS_PER_SLOT = 4
/** Exclusive. */
const MAX_SEED = 0x1_0000_0000

/**
 * A table of slots whose newest key replaces the one before. Every decision writes it, so it allocates nothing and
 * hashes once. Of two keys that share a slot, one in 65,536 is taken for the other; nobody can choose which, because
 * every process hashes differently.
 */
export function recentCounters(slots: number = SLOTS): RecentCounters {
  const numbers = new Float64Array(slots * NUMBERS_PER_SLOT)
  const seed = randomInt(MAX_SEED)

  /** FNV-1a from a random start. It is never 0. */
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
