import { byteWriter, type Codec } from '../../../schemas/codec.ts'

/** Collects the pages that changed since they were last taken, each once, with the items that were added to them. */
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
  let changed = new Map<string, ChangedPage<K, I>>()

  /** Returns an id of a page. Keys may be objects, which are equal when their bytes are. */
  function idOf(key: K, page: number): string {
    bytes.length = 0
    keys.encode(key, bytes)
    return `${page} ${bytes.buffer.toString('latin1', 0, bytes.length)}`
  }

  return {
    get size() {
      return changed.size
    },
    note(key, page, added) {
      const id = idOf(key, page)
      let entry = changed.get(id)
      if (entry === undefined) {
        entry = { key, page, added: [] }
        changed.set(id, entry)
      }
      if (added !== undefined) entry.added.push(added)
    },
    take() {
      const taken = [...changed.values()]
      changed = new Map()
      return taken
    },
  }
}
