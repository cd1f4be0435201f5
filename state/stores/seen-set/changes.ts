import { byteWriter, type Codec } from '../../../schemas/codec.ts'

/**
 * Collects the pages that changed since the last call of `take`. Each page occurs once, with the items that were added
 * to it.
 */
export interface ChangedPages<K, I> {
  readonly size: number
  note(key: K, page: number, added?: I): void
  take(): ChangedPage<K, I>[]
}

export interface ChangedPage<K, I> {
  readonly key: K
  readonly page: number
  readonly added: I[]
}

export function changedPages<K, I>(keys: Codec<K>): ChangedPages<K, I> {
  const bytes = byteWriter()
  let changed: ChangedPage<K, I>[] = []
  let ofSets = new Map<unknown, Map<number, ChangedPage<K, I>>>()

  /**
   * Returns an id that is the same for equal keys. Keys that are objects are equal when their encoded bytes are equal.
   */
  function idOf(key: K): unknown {
    if (typeof key !== 'object') return key
    bytes.length = 0
    keys.encode(key, bytes)
    return bytes.buffer.toString('latin1', 0, bytes.length)
  }

  return {
    get size() {
      return changed.length
    },
    note(key, page, added) {
      const id = idOf(key)
      let ofSet = ofSets.get(id)
      if (ofSet === undefined) {
        ofSet = new Map()
        ofSets.set(id, ofSet)
      }
      let entry = ofSet.get(page)
      if (entry === undefined) {
        entry = { key, page, added: [] }
        ofSet.set(page, entry)
        changed.push(entry)
      }
      if (added !== undefined) entry.added.push(added)
    },
    take() {
      const taken = changed
      changed = []
      ofSets = new Map()
      return taken
    },
  }
}
