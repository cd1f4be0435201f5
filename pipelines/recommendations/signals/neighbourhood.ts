import { decay, HALF_LIFE_MS } from '../../../schemas/recommendations/signals/half-lives.ts'
import { type Neighbour, PUBLISHED_NEIGHBOURS } from '../../../schemas/recommendations/signals/packed-neighbours.ts'
import type { ItemNeighbourhood, NearItem } from '../../../schemas/recommendations/types.ts'

/**
 * The neighbours of an item as bytes: 8 bytes id, 8 bytes weight and 4 bytes epoch seconds of the last pair each.
 * Weights are as of the row's `reference_at`: newer pairs count more than 1. So nothing has to be rewritten as time
 * passes.
 */

const WEIGHT_OFFSET = 8
const AT_OFFSET = 16
const ENTRY_BYTES = 20
const MS_PER_SECOND = 1_000
const HALF_LIFE = HALF_LIFE_MS.neighbours

const MAX_NEIGHBOURS = 100
/**
 * If there are more neighbours than the maximum, this many of the newest stay regardless of their weights. Otherwise no
 * new neighbour could ever gain weight against a hundred old ones.
 */
const KEPT_NEWEST = 20
/** Weights are rewritten when newer pairs would count more than 2^this. */
const MAX_HALF_LIVES = 30
/** The neighbours are published again when this share of their weight is new, so that old items cost little. */
const PUBLISHED_SHARE = 0.05

export const NO_NEIGHBOURS: ItemNeighbourhood = { reference_at: 0, neighbours: Buffer.alloc(0), total: 0, unpublished: 0 }

interface Kept {
  weight: number
  seconds: number
}

export function withNear(row: ItemNeighbourhood, near: readonly NearItem[]): ItemNeighbourhood {
  const newest = near.reduce((time, { at }) => Math.max(time, at), row.reference_at)
  const isOutgrown = newest - row.reference_at > MAX_HALF_LIVES * HALF_LIFE
  const referenceAt = row.reference_at === 0 || isOutgrown ? newest : row.reference_at
  const fade = row.reference_at === 0 ? 1 : decay(referenceAt - row.reference_at, HALF_LIFE)
  const kept = unpack(row.neighbours, fade)
  let added = 0
  for (const { item_id, closeness, at } of near) {
    const weight = closeness * decay(referenceAt - at, HALF_LIFE)
    const seconds = Math.floor(at / MS_PER_SECOND)
    const known = kept.get(item_id)
    if (known === undefined) kept.set(item_id, { weight, seconds })
    else {
      known.weight += weight
      known.seconds = Math.max(known.seconds, seconds)
    }
    added += weight
  }
  return {
    reference_at: referenceAt,
    neighbours: pack(bestOf(kept)),
    total: row.total * fade + added,
    unpublished: row.unpublished * fade + added,
  }
}

export function isDue({ total, unpublished }: ItemNeighbourhood): boolean {
  return unpublished > PUBLISHED_SHARE * total
}

/** Returns the neighbours to publish, with their weights as of `at`. */
export function publishedOf({ reference_at, neighbours }: ItemNeighbourhood, at: number): Neighbour[] {
  const kept = [...unpack(neighbours, decay(at - reference_at, HALF_LIFE))]
  return kept
    .map(([itemId, { weight }]) => ({ itemId, weight }))
    .sort((a, b) => b.weight - a.weight || (a.itemId < b.itemId ? -1 : 1))
    .slice(0, PUBLISHED_NEIGHBOURS)
}

function bestOf(kept: Map<bigint, Kept>): Iterable<[bigint, Kept]> {
  if (kept.size <= MAX_NEIGHBOURS) return kept
  const byTime = [...kept].sort(([a, one], [b, other]) => other.seconds - one.seconds || (a < b ? -1 : 1))
  const newest = byTime.slice(0, KEPT_NEWEST)
  const heaviest = byTime.slice(KEPT_NEWEST).sort(([a, one], [b, other]) => other.weight - one.weight || (a < b ? -1 : 1))
  return [...newest, ...heaviest.slice(0, MAX_NEIGHBOURS - KEPT_NEWEST)]
}

function unpack(packed: Uint8Array, factor: number): Map<bigint, Kept> {
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength)
  const kept = new Map<bigint, Kept>()
  for (let at = 0; at < bytes.length; at += ENTRY_BYTES) {
    kept.set(bytes.readBigInt64LE(at), {
      weight: bytes.readDoubleLE(at + WEIGHT_OFFSET) * factor,
      seconds: bytes.readUInt32LE(at + AT_OFFSET),
    })
  }
  return kept
}

function pack(kept: Iterable<[bigint, Kept]>): Buffer {
  const out = Buffer.allocUnsafe(MAX_NEIGHBOURS * ENTRY_BYTES)
  let at = 0
  for (const [itemId, { weight, seconds }] of kept) {
    out.writeBigInt64LE(itemId, at)
    out.writeDoubleLE(weight, at + WEIGHT_OFFSET)
    out.writeUInt32LE(seconds, at + AT_OFFSET)
    at += ENTRY_BYTES
  }
  return Buffer.from(out.subarray(0, at))
}
