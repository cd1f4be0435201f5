export interface TopicPartition {
  readonly topic: string
  readonly partition: number
}

/** Returns `topic-partition` as one string, for use as a key. */
export function partitionKey(topic: string, partition: number): string {
  return `${topic}-${partition}`
}
