/**
 * Recognises most terms that have no row, without reading from the database. Most terms occur for the first time, and
 * looking them up in the database would account for most of their cost.
 *
 * Terms cannot be removed from a Bloom filter, so each scan of the store fills a new filter. Before the first scan is
 * complete, the filter rules out no term. Terms are given by their `keyHash`.
 */
export interface TermFilter {
  /** Returns false if the term certainly has no row. */
  mayHave(hash: number): boolean
  /** Adds a term. Must be called for each term that gets a row. */
  add(hash: number): void
  /** Adds a term to the new filter. Must be called for each row of a scan, from the first row to the last. */
  walked(hash: number): void
  /** Replaces the filter with the new one. Must be called when a scan has reached the end of the store. */
  walkCompleted(): void
  /** Must be called before each commit. */
  commitBegins(): void
}

/**
 * Number of bits per term. With four probes, a full layer gives a false positive for about one in 400 terms that have
 * no row.
 */
const BITS_PER_TERM = 16
const PROBES = 4
const LEAST_TERMS = 65_536
const BITS_PER_WORD = 32

export function termFilter(): TermFilter {
  let current: GrowingFilter | undefined
  let next = new GrowingFilter(LEAST_TERMS)
  let terms = 0
  /**
   * `added` has the terms whose rows were added since the last commit began; `committing` has those that were added
   * between the last two commits. A scan does not find rows that are not committed yet, so each new filter begins with
   * these terms.
   */
  let added: number[] = []
  let committing: number[] = []

  return {
    mayHave(hash) {
      return current === undefined || current.has(hash)
    },
    add(hash) {
      current?.add(hash)
      next.add(hash)
      added.push(hash)
    },
    walked(hash) {
      terms++
      next.add(hash)
    },
    walkCompleted() {
      current = next
      next = new GrowingFilter(Math.max(LEAST_TERMS, terms))
      for (const hash of committing) next.add(hash)
      for (const hash of added) next.add(hash)
      terms = 0
    },
    commitBegins() {
      committing = added
      added = []
    },
  }
}

/**
 * A Bloom filter that grows without a limit. When its largest layer is full, it gets another layer of twice the size. A
 * filter of a fixed size would soon be too full after a start or while the vocabulary grows, and report nearly every
 * term as one that has a row.
 */
class GrowingFilter {
  /** The layers, the largest first. */
  readonly #layers: Uint32Array[]
  #terms: number
  /** Number of terms that can still be added to the largest layer. */
  #room: number

  constructor(terms: number) {
    this.#layers = [layerFor(terms)]
    this.#terms = terms
    this.#room = terms
  }

  add(hash: number): void {
    if (this.#room === 0) {
      this.#terms *= 2
      this.#room = this.#terms
      this.#layers.unshift(layerFor(this.#terms))
    }
    this.#room--
    set(this.#layers[0], hash)
  }

  has(hash: number): boolean {
    for (const layer of this.#layers) if (has(layer, hash)) return true
    return false
  }
}

/** Creates a layer. The number of bits is a power of two, so that a mask is enough to find the position of a probe. */
function layerFor(terms: number): Uint32Array {
  return new Uint32Array(2 ** Math.ceil(Math.log2(terms * BITS_PER_TERM)) / BITS_PER_WORD)
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

/** Returns the distance between probes, from the high bits of the hash. The first probe depends on the low bits. */
function stepOf(hash: number): number {
  return (hash >>> 15) | 1
}
