import { type FollowOptions, followTopic, MAX_GAP_MS, type TopicFollower } from './topic-follower.ts'

/** Follows a compacted topic whose values a service keeps by key. */
export interface TopicContents<K> {
  /** Whether the topic has been read up to the end that it had at the start. */
  readonly isReadable: boolean
  /**
   * Why the contents are not readable yet; undefined if they are readable. They stay readable while a recreated topic
   * is being read.
   */
  readonly missing: string | undefined
  /** Whether the values agree with the topic: it has been read to its end, and is not being read again. */
  readonly isCurrent: boolean
  /** The offset of the next record in each partition, and the epochs and the topic that the offsets belong to. */
  readonly position: { readonly offsets: ReadonlyMap<number, number> } & Pick<TopicFollower, 'epochs' | 'topicId'>
  readonly heardAt: TopicFollower['heardAt']
  readonly failure: TopicFollower['failure']
  /**
   * Must be called with the key of every record that is applied.
   * @returns true if the topic is being read again, and this is the first record of a key that had a value before
   */
  seen(key: K): boolean
  close(): Promise<void>
}

export interface TopicContentsOptions<K> extends Omit<FollowOptions, 'maxGapMs' | 'onStartOver' | 'onCaughtUp'> {
  /**
   * Returns the keys that have values. Called only when the topic is read again, so that the keys of large tables are
   * not kept twice.
   */
  held(): Iterable<K>
  /** Removes the value of a key that the topic no longer contains. */
  remove(key: K): void
  /** Called once, when the contents become readable. */
  onReady?(): void
}

/**
 * Follows a topic. The topic may have to be read again from its beginning, for example because it was deleted and
 * created again. The old values stay in use until the end of the topic is reached. Then the values that the topic does
 * not contain are removed.
 */
export function topicContents<K>({ held, remove, onReady, ...options }: TopicContentsOptions<K>): TopicContents<K> {
  const { topic, log } = options
  let isReadable = false
  /** While the topic is read again, the keys that have not occurred yet. Empty otherwise. */
  let unseen = new Set<K>()
  const follower = followTopic({
    ...options,
    maxGapMs: MAX_GAP_MS,
    onStartOver(reason) {
      log.warn({ topic, reason }, 'table_starts_over')
      unseen = new Set(held())
    },
    onCaughtUp() {
      for (const key of unseen) remove(key)
      unseen.clear()
      if (isReadable) return
      isReadable = true
      onReady?.()
    },
  })
  return {
    get isReadable() {
      return isReadable
    },
    get missing() {
      return isReadable ? undefined : follower.missing
    },
    get isCurrent() {
      return isReadable && follower.missing === undefined
    },
    get position() {
      return { offsets: follower.positions, epochs: follower.epochs, topicId: follower.topicId }
    },
    get heardAt() {
      return follower.heardAt
    },
    get failure() {
      return follower.failure
    },
    seen: (key) => unseen.delete(key),
    close: follower.close,
  }
}
