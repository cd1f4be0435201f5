/** One build of an index. */
export interface Build {
  readonly index: string
  /** Undefined if nobody asked for it. */
  readonly requestId: string | undefined
  /** The value of the request. */
  readonly request?: unknown
  /** Epoch ms. */
  readonly startedAt: number
}

export interface BuildProgress extends Build {
  readonly state: 'filling' | 'complete'
  /** Offsets of the topic that are indexed, and all offsets. Compaction leaves gaps, so they do not count records. */
  readonly done: number
  readonly total: number
}
