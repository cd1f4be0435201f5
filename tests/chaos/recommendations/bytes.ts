/**
 * Decodes the packed lists of the topics as documented, without code of the service. Ids are returned as decimal text.
 */

export interface TimedItem {
  readonly item: string
  /** Time of the item, epoch seconds. */
  readonly seconds: number
}

export interface PastEvent extends TimedItem {
  readonly weight: number
  readonly type: number
}

export interface WeighedItem {
  readonly item: string
  readonly weight: number
}

/** Reads rows of 12 bytes: 8 bytes id, 4 bytes epoch seconds. */
export function timedItems(packed: Uint8Array): TimedItem[] {
  return rows(packed, 12, (view, at) => ({ item: String(view.getBigInt64(at, true)), seconds: view.getUint32(at + 8, true) }))
}

/** Reads rows of 17 bytes: 8 bytes id, 4 bytes epoch seconds, 4 bytes weight, 1 byte type. */
export function pastEvents(packed: Uint8Array): PastEvent[] {
  return rows(packed, 17, (view, at) => ({
    item: String(view.getBigInt64(at, true)),
    seconds: view.getUint32(at + 8, true),
    weight: view.getFloat32(at + 12, true),
    type: view.getUint8(at + 16),
  }))
}

/** Reads rows of 12 bytes: 8 bytes id, 4 bytes weight. */
export function weighedItems(packed: Uint8Array): WeighedItem[] {
  return rows(packed, 12, (view, at) => ({ item: String(view.getBigInt64(at, true)), weight: view.getFloat32(at + 8, true) }))
}

function rows<T>(packed: Uint8Array, bytes: number, read: (view: DataView, at: number) => T): T[] {
  const view = new DataView(packed.buffer, packed.byteOffset, packed.byteLength)
  return Array.from({ length: packed.byteLength / bytes }, (_, row) => read(view, row * bytes))
}
