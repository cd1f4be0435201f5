/**
 * A bounded map that evicts entries that have not been used for a while. It has two generations: a hit in the old
 * generation moves the entry to the young one, and a full young generation becomes the old one. Unlike an LRU cache, it
 * does not maintain a list on every hit.
 */
export interface ObjectCache<K, E> {
  /** Counts as a use. */
  get(key: K): E | undefined
  /** Does not count as a use. */
  peek(key: K): E | undefined
  set(key: K, entry: E): void
  clear(): void
}

/**
 * @param capacity maximum number of entries, not counting pinned ones
 * @param pinned entries that must survive a change of generations, such as changes that are not written yet
 */
export function objectCache<K, E>(capacity: number, pinned: (keep: (key: K, entry: E) => void) => void): ObjectCache<K, E> {
  const generationSize = Math.max(1, capacity >> 1)
  let young = new Map<K, E>()
  let old = new Map<K, E>()
  /**
   * Number of pinned entries in the young generation. They do not count towards its size; otherwise, many of them would
   * fill every new generation immediately.
   */
  let kept = 0

  function set(key: K, entry: E): void {
    if (young.size - kept >= generationSize) {
      old = young
      young = new Map()
      pinned((pinnedKey, pinnedEntry) => young.set(pinnedKey, pinnedEntry))
      kept = young.size
    }
    young.set(key, entry)
  }

  return {
    get(key) {
      const entry = young.get(key)
      if (entry !== undefined) return entry
      const older = old.get(key)
      if (older !== undefined) set(key, older)
      return older
    },
    peek(key) {
      return young.get(key) ?? old.get(key)
    },
    set,
    clear() {
      young = new Map()
      old = new Map()
      kept = 0
    },
  }
}
