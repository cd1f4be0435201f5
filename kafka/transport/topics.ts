/** The required properties of a topic. `ensureTopics` creates the topic if it is missing. */
export interface TopicSpec {
  readonly name: string
  readonly partitions: number
  readonly replicationFactor?: number
  /** Broker topic configuration, e.g. `cleanup.policy`. */
  readonly config?: Readonly<Record<string, string>>
  /**
   * True if this configuration is necessary to erase records in time. Provisioning then also sets it for existing
   * topics.
   */
  readonly erases?: boolean
}
