/** One partition of one topic. */
export interface TopicPartition {
  readonly topic: string
  readonly partition: number
}

/** Returns `topic-partition` as one string, which is the key of all maps over partitions. */
export function partitionKey(topic: string, partition: number): string {
  return `${topic}-${partition}`
}
