/** Names for the command line. They are in a separate file, so that help does not load the engine. */
export const JOB_NAMES = ['J1', 'J2', 'J3'] as const
export type JobName = (typeof JOB_NAMES)[number]

export const PEER_NAMES = ['kafka-streams', 'goka', 'quix'] as const
export type PeerName = (typeof PEER_NAMES)[number]

export const GUARANTEES = ['exactly-once', 'at-least-once'] as const
export type Guarantee = (typeof GUARANTEES)[number]
