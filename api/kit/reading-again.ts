/**
 * Finds the keys that a topic no longer contains when the topic is read again from its beginning, for example after it
 * was deleted and created again. Until the end is reached, the existing values stay in use.
 */
export interface ReadingAgain<K> {
  /** Called when reading starts over. */
  startOver(): void
  /** Called for every record. */
  seen(key: K): void
  /** Called at the end of the topic. Returns the keys from before that did not occur again. */
  finish(): Iterable<K>
}

/**
 * @param held returns the keys that have values. Called at each start over, so that the keys of large tables are not
 *   kept twice.
 */
export function readingAgain<K>(held: () => Iterable<K>): ReadingAgain<K> {
  let unseen: Set<K> | undefined
  return {
    startOver() {
      unseen = new Set(held())
    },
    seen(key) {
      unseen?.delete(key)
    },
    finish() {
      const gone = unseen ?? []
      unseen = undefined
      return gone
    },
  }
}
