import type { EngineStore } from './store.ts'

/** The engine's side of a store that is built on another one; the author's side is added to it. */
export function storeLife(inner: EngineStore): EngineStore {
  return {
    name: inner.name,
    values: inner.values,
    logged: inner.logged,
    lookup: inner.lookup,
    open: inner.open,
    loadPrefetched: inner.loadPrefetched,
    get dirtyKeys() {
      return inner.dirtyKeys
    },
    flush: inner.flush,
    committed: inner.committed,
    discard: inner.discard,
  }
}
