/** The counters of one sink. Plain numbers are cheap; metrics are read on request. */
export interface SinkMetrics {
  /** Records whose batch was written to the target. */
  applied: number
  batches: number
  badRecords: number
  /** Failed attempts that were repeated or will be. */
  retries: number
  /** How often a partition was read again because the target was at another offset. */
  rewinds: number
  /** Records that retention deleted from the log before the sink read them. */
  lostRecords: number
}

export function sinkMetrics(): SinkMetrics {
  return { applied: 0, batches: 0, badRecords: 0, retries: 0, rewinds: 0, lostRecords: 0 }
}
