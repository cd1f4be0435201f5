import { MAX_PAGE_BYTES, MAX_PAGE_ENTRIES } from './page.ts'

/**
 * The properties of a seen-set. Each of them affects how items are stored, so a store with different properties needs a
 * different name.
 */
export interface SeenSetShape {
  /** Minimum number of items that a set remembers. A set with more items may forget the oldest items early. */
  readonly capacity: number
  /** Maximum false-positive rate: the share of new items that are reported as seen. From 1e-6 to below 1. */
  readonly errorRate: number
  /**
   * How long, in ms, a set remembers an item after the item was last added. The set may remember it up to a tenth
   * longer.
   */
  readonly lifetimeMs: number
}

/**
 * Where a set stores its items. A set consists of layers of pages: the first layer has one page, and each further layer
 * except the last has several times as many pages as the previous one. The hash of an item selects one page per layer,
 * and the item is stored in the first of these pages that has room. A small set therefore has one page. In a set of any
 * size, adding an item changes the items of at most one page. A lookup reads one page per layer, or only the first
 * page if the set has no other page.
 */
export interface SeenSetLayout {
  readonly layers: readonly Layer[]
  /** Number of pages that a set can have. Pages are numbered from 0, layer by layer. */
  readonly pages: number
  /** Length of the units in which a set measures time, ms. Units are counted since 1970. */
  readonly unitMs: number
  /** The lifetime in units. */
  readonly lifeUnits: number
  /** Maximum difference between an item's time and the start of its run, in units. */
  readonly spanUnits: number
}

export interface Layer {
  readonly firstPage: number
  readonly pages: number
  /** Number of bits of an item's hash that are stored. */
  readonly fingerprintBits: number
}

/**
 * Number of time units per lifetime. Longer units save bytes in the starts of runs, but keep items longer than
 * necessary.
 */
const UNITS_PER_LIFETIME = 1_000
/**
 * Ratio of the lifetime to the span of a run. A run of items expires as a whole, so its span must be short compared
 * with the lifetime.
 */
const SPANS_PER_LIFETIME = 10
/**
 * Number of units by which the span of a run is shortened. An item may be kept for at most a tenth of the lifetime
 * longer than necessary. Both the span and the rounding of times to units use up this allowance, so the span leaves
 * room for the rounding.
 */
const ROUNDING_UNITS = 2
/**
 * Ratio of the sizes of two neighbouring layers. A higher ratio means fewer layers to read, but more pages that are
 * nearly empty.
 */
const GROWTH = 6
/** Factor by which the last layer may be larger than the ratio allows, so that no small layer follows it. */
const LAST_LAYER_FACTOR = 2
/**
 * Number of entries that a set has room for, as a multiple of its capacity. The spare room is needed because some pages
 * get more than their share of the items, and because a run keeps all of its items until it expires as a whole.
 */
const ROOM = 1.5
/**
 * The first layer's share of the error rate. A large share keeps the fingerprints of small sets short, because these
 * have only the first layer.
 */
const FIRST_LAYER_ERRORS = 0.6
const MAX_FINGERPRINT_BITS = 32
const MIN_ERROR_RATE = 1e-6
const MAX_PAGES = 65_536
const BITS_PER_BYTE = 8

/**
 * Computes the layout of the seen-sets with these properties.
 *
 * False positives: a page of n entries reports a new item as seen with probability n / 2^bits, regardless of what the
 * entries are. A page has at most MAX_PAGE_ENTRIES entries of any age, and a lookup reads one page per layer. The bits
 * of each layer are chosen so that the sum over the layers is at most the error rate, even if all pages are full.
 * Unevenly filled pages need no allowance, because the number of entries per page is limited.
 *
 * @throws RangeError when the shape is invalid
 */
export function seenSetLayout({ capacity, errorRate, lifetimeMs }: SeenSetShape): SeenSetLayout {
  if (!(Number.isSafeInteger(capacity) && capacity > 0)) throw new RangeError('capacity must be a positive integer')
  if (!(errorRate >= MIN_ERROR_RATE && errorRate < 1)) throw new RangeError(`errorRate must be at least ${MIN_ERROR_RATE} and below 1`)
  if (!(Number.isSafeInteger(lifetimeMs) && lifetimeMs >= UNITS_PER_LIFETIME)) {
    throw new RangeError(`lifetimeMs must be an integer of at least ${UNITS_PER_LIFETIME}`)
  }
  const firstBits = bitsFor(errorRate * FIRST_LAYER_ERRORS)
  // The number of layers and the number of bits depend on each other: with more layers, fingerprints need more bits, so
  // fewer entries fit into a page. More bits never lead to fewer layers, so the loop ends.
  let layers = layersOf(capacity, [firstBits, firstBits])
  for (let bits = firstBits; bits < bitsForFurther(errorRate, layers.length); ) {
    bits = bitsForFurther(errorRate, layers.length)
    layers = layersOf(capacity, [firstBits, bits])
  }
  const last = layers[layers.length - 1]
  if (last.fingerprintBits > MAX_FINGERPRINT_BITS) throw new RangeError('errorRate is too small for this capacity')
  const pages = last.firstPage + last.pages
  if (pages > MAX_PAGES) throw new RangeError(`capacity needs ${pages} pages, but a set can have at most ${MAX_PAGES}`)
  const unitMs = Math.ceil(lifetimeMs / UNITS_PER_LIFETIME)
  const lifeUnits = Math.ceil(lifetimeMs / unitMs)
  return { layers, pages, unitMs, lifeUnits, spanUnits: Math.floor(lifeUnits / SPANS_PER_LIFETIME) - ROUNDING_UNITS }
}

/** @throws RangeError when the time is not a finite number */
export function unitOf({ unitMs }: SeenSetLayout, time: number): number {
  if (!Number.isFinite(time)) throw new RangeError(`${time} is not a time in epoch ms`)
  return Math.max(0, Math.floor(time / unitMs))
}

/** Returns the earliest start of a run whose items are remembered at `time`. */
export function oldestLive(layout: SeenSetLayout, time: number): number {
  return Math.max(0, unitOf(layout, time) - layout.lifeUnits - layout.spanUnits)
}

function layersOf(capacity: number, [firstBits, furtherBits]: readonly [number, number]): Layer[] {
  const layers: Layer[] = []
  let rest = Math.ceil(capacity * ROOM)
  for (let firstPage = 0, size = 1; ; size *= GROWTH) {
    const fingerprintBits = size === 1 ? firstBits : furtherBits
    const needed = Math.ceil(rest / entriesPerPage(fingerprintBits))
    const isLast = needed <= (size === 1 ? 1 : size * LAST_LAYER_FACTOR)
    const pages = isLast ? needed : size
    layers.push({ firstPage, pages, fingerprintBits })
    if (isLast) return layers
    firstPage += pages
    rest -= pages * entriesPerPage(fingerprintBits)
  }
}

/**
 * Returns the number of entries that fit into a page, regardless of how their times are spread. With eleven runs of
 * about 24 entries each, sorting saves 3 bits per entry, and the headers of the runs cost 1.5 bits per entry. It is
 * therefore enough to reserve one bit less than a fingerprint for each entry.
 */
function entriesPerPage(fingerprintBits: number): number {
  return Math.min(MAX_PAGE_ENTRIES, Math.floor((MAX_PAGE_BYTES * BITS_PER_BYTE) / (fingerprintBits - 1)))
}

function bitsForFurther(errorRate: number, layers: number): number {
  return bitsFor((errorRate * (1 - FIRST_LAYER_ERRORS)) / Math.max(1, layers - 1))
}

/**
 * Returns the smallest number of bits per fingerprint with which the false-positive rate of a full page is at most
 * `errors`.
 */
function bitsFor(errors: number): number {
  return Math.ceil(Math.log2(MAX_PAGE_ENTRIES / errors))
}
