/**
 * Tells which terms have no row, without a read. Most terms occur for the first time, and asking the database for them
 * is the greatest part of what they cost.
 *
 * A Bloom filter cannot forget, so each walk over the store fills a new one. Until the first walk is complete, every
 * term may have a row.
 */
export interface TermFilter {
  /** Returns false if the term has no row for certain. */
  mayHave(term: string): boolean
  /** Must be called for each term that gets a row. */
  add(term: string): void
  /** Must be called for each row of a walk, from the first to the last one. */
  walked(term: string): void
  /** Must be called when a walk has reached the end of the store. */
  walkCompleted(): void
}

/** With four probes, at most one of 400 terms without a row is taken for one that has a row. */
const BITS_PER_TERM = 16
const PROBES = 4
const LEAST_TERMS = 65_536
/** A filter has room for this many times the terms of the last walk. */
const GROWTH = 2
const BITS_PER_WORD = 32
const FNV_OFFSET = 0x811c9dc5
const FNV_PRIME = 0x01000193

export function termFilter(): TermFilter {
  let current: Uint32Array | undefined
  let next = filterFor(LEAST_TERMS)
  let terms = 0

  return {
    mayHave(term) {
      return current === undefined || has(current, hashOf(term))
    },
    add(term) {
      const hash = hashOf(term)
      if (current !== undefined) set(current, hash)
      set(next, hash)
    },
    walked(term) {
      terms++
      set(next, hashOf(term))
    },
    walkCompleted() {
      current = next
      next = filterFor(Math.max(LEAST_TERMS, terms * GROWTH))
      terms = 0
    },
  }
}

/** The number of bits is a power of two, so that a mask finds the place of a probe. */
function filterFor(terms: number): Uint32Array {
  return new Uint32Array(2 ** Math.ceil(Math.log2(terms * BITS_PER_TERM)) / BITS_PER_WORD)
}

/** Hashes with FNV-1a, and mixes the bits as MurmurHash3 does. */
function hashOf(term: string): number {
  let hash = FNV_OFFSET
  for (let i = 0; i < term.length; i++) hash = Math.imul(hash ^ term.charCodeAt(i), FNV_PRIME)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return hash ^ (hash >>> 16)
}

function set(filter: Uint32Array, hash: number): void {
  const mask = filter.length * BITS_PER_WORD - 1
  const step = stepOf(hash)
  for (let probe = 0, at = hash; probe < PROBES; probe++, at += step) filter[(at & mask) >>> 5] |= 1 << (at & 31)
}

function has(filter: Uint32Array, hash: number): boolean {
  const mask = filter.length * BITS_PER_WORD - 1
  const step = stepOf(hash)
  for (let probe = 0, at = hash; probe < PROBES; probe++, at += step) if ((filter[(at & mask) >>> 5] & (1 << (at & 31))) === 0) return false
  return true
}

/** The first probe depends on the low bits of the hash, and the distance between the probes on the high ones. */
function stepOf(hash: number): number {
  return (hash >>> 15) | 1
}
