/** Names for the command line. They are in a separate file, so that printing the help does not load the engine. */
export const JOB_NAMES = ['J1', 'J2', 'J3'] as const
export type JobName = (typeof JOB_NAMES)[number]

export const PEER_NAMES = ['kafka-streams', 'flink', 'goka', 'quix', 'limit'] as const
export type PeerName = (typeof PEER_NAMES)[number]

/** Where Flink keeps its state. */
export const PEER_STATES = ['rocksdb', 'heap'] as const
/** Ways to implement the join in Kafka Streams. */
export const PEER_JOINS = ['dsl', 'processor'] as const

export const GUARANTEES = ['exactly-once', 'at-least-once'] as const
export type Guarantee = (typeof GUARANTEES)[number]

/**
 * Maximum padding of a card's state in bytes. Paddings are slices of a buffer of random bytes that is twice as long.
 */
export const MAX_STATE_PADDING = 32_768
