/**
 * An item's neighbours and their weights as bytes, highest weight first. Each neighbour has 8 bytes of id and 4 bytes
 * of weight.
 */

const ID_BYTES = 8
const ENTRY_BYTES = 12

/** Maximum number of neighbours that are published per item. */
export const PUBLISHED_NEIGHBOURS = 50

export interface Neighbour {
  readonly itemId: bigint
  /** Sum of the closeness of all co-occurrences of the two items, decayed with a half-life of 30 days. */
  readonly weight: number
}

export function packNeighbours(neighbours: readonly Neighbour[]): Buffer {
  const out = Buffer.allocUnsafe(neighbours.length * ENTRY_BYTES)
  neighbours.forEach(({ itemId, weight }, index) => {
    out.writeBigInt64LE(itemId, index * ENTRY_BYTES)
    out.writeFloatLE(weight, index * ENTRY_BYTES + ID_BYTES)
  })
  return out
}

export function unpackNeighbours(packed: Buffer): Neighbour[] {
  return Array.from({ length: Math.floor(packed.length / ENTRY_BYTES) }, (_, index) => ({
    itemId: packed.readBigInt64LE(index * ENTRY_BYTES),
    weight: packed.readFloatLE(index * ENTRY_BYTES + ID_BYTES),
  }))
}
