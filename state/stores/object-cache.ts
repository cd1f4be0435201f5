/**
 * A bounded map that forgets what was not used for a while, in two generations: a hit in the old one moves to the young one,
 * and a full young one becomes the old one. No list to maintain per hit, unlike LRU.
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
 * @param capacity entries at most, beside the pinned ones
 * @param pinned entries that must survive a change of generations, such as changes that are not written yet
 */
export function objectCache<K, E>(capacity: number, pinned: (keep: (key: K, entry: E) => void) => void): ObjectCache<K, E> {
  const generationSize = Math.max(1, capacity >> 1)
  let young = new Map<K, E>()
  let old = new Map<K, E>()
  /** Entries put by `pinned`: they do not count, or many of them would end every generation at once. */
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
