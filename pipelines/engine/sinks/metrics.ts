/** The counters of one sink. They are plain numbers, which are cheap to update. A request for metrics reads them. */
export interface SinkMetrics {
  /**
   * Number of records in the batches that the target has applied. In a sink that delivers records: number of records
   * that were delivered, dropped, or moved to the retry topic or the dead letters. Bad records are not counted.
   */
  applied: number
  /** Number of batches with records that the target has applied; always 0 for a sink that delivers records. */
  batches: number
  badRecords: number
  /** Number of failed attempts to open a partition, load a schema or write a batch. Each is retried. */
  retries: number
  /**
   * Number of times that a partition was reopened because the target was at a different offset or another process owned
   * the partition.
   */
  rewinds: number
  /** Number of records that retention deleted from the log before the sink read them. */
  lostRecords: number
}

export function sinkMetrics(): SinkMetrics {
  return { applied: 0, batches: 0, badRecords: 0, retries: 0, rewinds: 0, lostRecords: 0 }
}
