/** Counters of one sink. Plain numbers; read when somebody asks. */
export interface SinkMetrics {
  /** Records whose batch is in the target. */
  applied: number
  batches: number
  badRecords: number
  /** Failed attempts that were or will be repeated. */
  retries: number
  /** Partitions that were read again because the target stood elsewhere. */
  rewinds: number
  /** Records that the log had lost before they were read (its retention passed them). */
  lostRecords: number
}

export function sinkMetrics(): SinkMetrics {
  return { applied: 0, batches: 0, badRecords: 0, retries: 0, rewinds: 0, lostRecords: 0 }
}
