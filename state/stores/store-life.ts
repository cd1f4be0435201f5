import type { EngineStore } from './store.ts'

/**
 * Returns the methods that the engine calls, for a store that wraps another store. The wrapper adds the methods for
 * processors.
 */
export function storeLife(inner: EngineStore): EngineStore {
  return {
    name: inner.name,
    values: inner.values,
    logged: inner.logged,
    lookup: inner.lookup,
    open: inner.open,
    prefetchFor: inner.prefetchFor,
    loadPrefetched: inner.loadPrefetched,
    get dirtyKeys() {
      return inner.dirtyKeys
    },
    get dirtyBytes() {
      return inner.dirtyBytes
    },
    flush: inner.flush,
    trackChanges: inner.trackChanges,
    checkChanges: inner.checkChanges,
    committed: inner.committed,
    discard: inner.discard,
  }
}
