/** One partition of one topic. */
export interface TopicPartition {
  readonly topic: string
  readonly partition: number
}

/** Returns `topic-partition` as one string. All maps over partitions use it as the key. */
export function partitionKey(topic: string, partition: number): string {
  return `${topic}-${partition}`
}
