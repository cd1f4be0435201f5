import type { EngineStore } from './store.ts'

/**
 * Returns the members of `inner` through which the engine uses it. A store that wraps `inner` reuses them, and adds the
 * methods for processors.
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
