/**
 * Time limits and intervals for the erasure of deleted data. All of them are fractions of one promised time, so they
 * stay consistent when an operator changes that time (see docs/operations.md).
 */
export interface ErasureTimes {
  /**
   * How long the last read of an object can be repeated if this read deletes the object. Without such a time, a reader
   * whose connection broke could not read the object at all.
   */
  readonly repeatableMs: number
  /**
   * How long an unreferenced blob must have been untouched before it is removed. This is longer than any command takes,
   * and longer than `repeatableMs`.
   */
  readonly untouchedMs: number
  /**
   * A blob that was touched within this time need not be touched again. The last read of a blob must protect the blob
   * for as long as that read can be repeated, so this is the difference between the two times above.
   */
  readonly renewAfterMs: number
  /**
   * A reference to a blob is made within this time after the blob's last touch. By default, the command that makes the
   * reference is sent at most 60 s after the touch (`renewAfterMs`) and may be decided up to 30 s later.
   */
  readonly referencedWithinMs: number
  /** Interval between sweeps that remove unreferenced blobs. */
  readonly sweepEveryMs: number
  /**
   * Interval at which old versions of rows are removed from state and tables. Removing them takes some time, and the
   * files of a table remain for a few minutes more.
   */
  readonly scrubEveryMs: number
  /**
   * How long a worker may keep erasable state whose partitions have moved to another worker. After the worker has
   * deleted the state, it remains in the files until the next scrub.
   */
  readonly movedMs: number
}

const REPEATABLE_SHARE = 55 / 60
const UNTOUCHED_SHARE = 56 / 60
const REFERENCED_SHARE = 3 / 60
const SWEEP_SHARE = 3 / 60
const SCRUB_SHARE = 15 / 60
const MOVED_SHARE = 15 / 60

/** @param withinMs the time within which services promise to erase deleted data */
export function erasureTimes(withinMs: number): ErasureTimes {
  const repeatableMs = withinMs * REPEATABLE_SHARE
  const untouchedMs = withinMs * UNTOUCHED_SHARE
  return {
    repeatableMs,
    untouchedMs,
    renewAfterMs: untouchedMs - repeatableMs,
    referencedWithinMs: withinMs * REFERENCED_SHARE,
    sweepEveryMs: withinMs * SWEEP_SHARE,
    scrubEveryMs: withinMs * SCRUB_SHARE,
    movedMs: withinMs * MOVED_SHARE,
  }
}
