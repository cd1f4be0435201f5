/**
 * A bounded map that evicts entries that have not been used for a while. It has two generations: a hit in the old
 * generation moves the entry to the young one, and a full young generation becomes the old one. Unlike an LRU cache, it
 * does not maintain a list on every hit.
 */
export interface ObjectCache<K, E> {
  /** Returns the entry of a key. The call counts as a use of the entry. */
  get(key: K): E | undefined
  /** Returns the entry of a key. The call does not count as a use of the entry. */
  peek(key: K): E | undefined
  set(key: K, entry: E): void
  /** The number of the young generation. An entry that was set in this generation need not be set again. */
  readonly generation: number
  /**
   * Must be called with the difference, which may be negative, when the weight of an entry changes after it was set.
   */
  grew(weight: number): void
  clear(): void
}

/**
 * @param capacity approximate maximum weight of all entries. The actual weight exceeds it if many entries are pinned
 * @param pinned calls `keep` for each entry that must survive a change of generations, such as an entry with a change
 * that is not written yet
 * @param weightOf default: every entry weighs 1, so that the capacity is a number of entries
 */
export function objectCache<K, E>(
  capacity: number,
  pinned: (keep: (key: K, entry: E) => void) => void,
  weightOf: (entry: E) => number = () => 1,
): ObjectCache<K, E> {
  const generationWeight = Math.max(1, capacity / 2)
  let young = new Map<K, E>()
  let old = new Map<K, E>()
  let generation = 0
  /** Weight of the entries that joined the young generation after its start. */
  let joined = 0
  /**
   * Weight of the entries that were pinned at the start of the young generation. Pinned entries do not count towards
   * its size, because many of them would fill every new generation immediately. A generation lasts at least until
   * entries of the same total weight have joined it. Copying the pinned entries into each new generation therefore
   * never costs more than adding the other entries did.
   */
  let kept = 0

  function set(key: K, entry: E): void {
    if (joined >= generationWeight && joined >= kept) changeGenerations()
    const { size } = young
    young.set(key, entry)
    if (young.size > size) joined += weightOf(entry)
  }

  function changeGenerations(): void {
    old = young
    young = new Map()
    generation++
    joined = 0
    kept = 0
    pinned((key, entry) => {
      const { size } = young
      young.set(key, entry)
      if (young.size > size) kept += weightOf(entry)
    })
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
    get generation() {
      return generation
    },
    grew(weight) {
      joined += weight
    },
    clear() {
      young = new Map()
      old = new Map()
      generation++
      joined = 0
      kept = 0
    },
  }
}
