/** Decides which failures of an operation are reported if the operation is repeated until it succeeds. */
export interface SpacedReports {
  /**
   * Counts a failure.
   * @returns the number of failures since the last report, if this failure is to be reported; otherwise undefined
   */
  failed(): number | undefined
}

/** Shortest time between two reports of the same operation. During an outage, each report repeats the same reason. */
const BETWEEN_REPORTS_MS = 60_000

/**
 * Reports the first failure at once, and later failures at most once a minute, so that an outage does not flood the
 * log.
 * @param monotonic returns monotonic milliseconds
 */
export function spacedReports(monotonic: () => number): SpacedReports {
  let failures = 0
  let nextAt = Number.NEGATIVE_INFINITY
  return {
    failed() {
      failures++
      const now = monotonic()
      if (now < nextAt) return undefined
      nextAt = now + BETWEEN_REPORTS_MS
      const counted = failures
      failures = 0
      return counted
    },
  }
}
