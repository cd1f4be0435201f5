/** One build of an index. */
export interface Build {
  readonly index: string
  /** The id of the request for the build; undefined if nobody requested it. */
  readonly requestId: string | undefined
  /** The request itself; undefined if nobody requested the build. */
  readonly request?: unknown
  /** Epoch ms. */
  readonly startedAt: number
}

export interface BuildProgress extends Build {
  readonly state: 'filling' | 'complete'
  /**
   * Number of the topic's offsets that are indexed; 0 in the state `complete`. Compaction leaves gaps, so there may be
   * fewer records than offsets.
   */
  readonly done: number
  /** Number of all offsets of the topic; 0 in the state `complete`. */
  readonly total: number
}
