import { isWithin } from './age.ts'

/** Caches loaded values for a short time. Callers that arrive during a load wait for the same load. */
export interface ShortCache<K, V> {
  get(key: K): Promise<V>
}

export interface ShortCacheOptions<K, V> {
  load(key: K): Promise<V>
  readonly keptMs: number
  /** Maximum number of entries. When there are more, the oldest entries are evicted. */
  readonly maxEntries: number
  /** Epoch ms. */
  now(): number
}

/** Creates a cache. A failed load is not cached, so the next caller tries again. */
export function shortCache<K, V>(options: ShortCacheOptions<K, V>): ShortCache<K, V> {
  const entries = new Map<K, { readonly loading: Promise<V>; readonly startedAt: number }>()

  function load(key: K): Promise<V> {
    const loading = options.load(key)
    const entry = { loading, startedAt: options.now() }
    entries.delete(key)
    dropExpired(entry.startedAt)
    entries.set(key, entry)
    if (entries.size > options.maxEntries) entries.delete(entries.keys().next().value!)
    loading.catch(() => {
      if (entries.get(key) === entry) entries.delete(key)
    })
    return loading
  }

  /** Drops expired entries to free their memory. Entries are ordered by age. */
  function dropExpired(now: number): void {
    for (const [key, { startedAt }] of entries) {
      if (isWithin(startedAt, options.keptMs, now)) return
      entries.delete(key)
    }
  }

  return {
    get(key) {
      const entry = entries.get(key)
      return entry !== undefined && isWithin(entry.startedAt, options.keptMs, options.now()) ? entry.loading : load(key)
    },
  }
}
