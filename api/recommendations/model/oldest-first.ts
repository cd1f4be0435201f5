/** Orders keys by time, and returns the oldest one first. */
export interface OldestFirst<K> {
  /** Adds a key. If the key was added before with another time, only the new time counts. */
  add(key: K, time: number): void
  /** Removes and returns the key with the oldest time; undefined if there is none. */
  take(): K | undefined
}

interface Entry<K> {
  readonly key: K
  readonly time: number
}

/**
 * All outdated entries are removed when there are more entries than this, and more than twice as many as were left
 * after the previous removal.
 */
const LEAST_CLEANED = 1_024

/**
 * Creates a binary heap. An entry is outdated if its key was added again with another time, or is no longer needed.
 * Outdated entries stay in the heap until they reach its top, or until the heap has grown enough; see LEAST_CLEANED.
 * @param isValid whether a key is still needed and has this time
 */
export function oldestFirst<K>(isValid: (key: K, time: number) => boolean): OldestFirst<K> {
  let entries: Entry<K>[] = []
  let cleanedAt = LEAST_CLEANED

  function clean(): void {
    entries = entries.filter(({ key, time }) => isValid(key, time)).sort((one, other) => one.time - other.time)
    cleanedAt = Math.max(LEAST_CLEANED, 2 * entries.length)
  }

  function takeFirst(): Entry<K> | undefined {
    const first = entries[0]
    const last = entries.pop()
    if (first === undefined || last === undefined || entries.length === 0) return first
    let at = 0
    for (let child = 1; child < entries.length; child = 2 * at + 1) {
      if (child + 1 < entries.length && entries[child + 1].time < entries[child].time) child++
      if (entries[child].time >= last.time) break
      entries[at] = entries[child]
      at = child
    }
    entries[at] = last
    return first
  }

  return {
    add(key, time) {
      const entry = { key, time }
      let at = entries.push(entry) - 1
      for (let parent = (at - 1) >> 1; at > 0 && entries[parent].time > time; parent = (at - 1) >> 1) {
        entries[at] = entries[parent]
        at = parent
      }
      entries[at] = entry
      if (entries.length > cleanedAt) clean()
    },
    take() {
      for (let first = takeFirst(); first !== undefined; first = takeFirst()) if (isValid(first.key, first.time)) return first.key
      return undefined
    },
  }
}
