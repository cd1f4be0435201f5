/**
 * Interval between the records that make the broker close (roll) log segments. It is a fraction of the maximum age of
 * an open segment.
 */
export const ROLL_EVERY_MS = 300_000
/**
 * How long after the last erasure a topology keeps sending records that close segments. By then, compaction has removed
 * all erased records from the log.
 */
const ROLL_FOR_MS = 3_600_000

/**
 * Decides when a topology must add records that make the broker close segments, so that compaction removes erased
 * records (see `KeyedStore.roll`).
 */
export interface Rolling {
  /** Notes that something was erased. */
  erased(now: number): void
  /**
   * Returns whether the tick, which runs every `ROLL_EVERY_MS`, must add records. It must do so for an hour after an
   * erasure, and for an hour after the first call, because there may have been an erasure before the start.
   */
  isNeeded(now: number): boolean
}

export function rolling(): Rolling {
  /**
   * Time of the last erasure or, if nothing was erased since the start, of the first call of `isNeeded`; undefined
   * before that call.
   */
  let erasedAt: number | undefined
  return {
    erased(now) {
      erasedAt = now
    },
    isNeeded(now) {
      erasedAt ??= now
      return now - erasedAt <= ROLL_FOR_MS
    },
  }
}
