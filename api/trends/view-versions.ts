import { trendOutput, trendRenewals } from '../../schemas/trends/topics.ts'
import { readAppliedOffsets } from '../../state/views/applied-offsets.ts'
import { TRENDS_VIEW } from '../../state/views/trends/trends.ts'
import { NOT_CAUGHT_UP, type ViewReader } from '../../state/views/view.ts'
import { isWithin } from '../kit/age.ts'

/**
 * The position of a partition of the view: the offsets up to which the sinks have applied their topics. If undefined,
 * the position is unknown, and cached lists must not be reused.
 */
export type ViewVersion = string | undefined

/**
 * Detects whether any list of a partition may have changed. The check takes one read per partition instead of one per
 * region.
 */
export interface ViewVersions {
  /** Returns the position of a partition, at most LOOK_EVERY_MS old. Concurrent callers share a read. */
  of(partition: number): Promise<ViewVersion | typeof NOT_CAUGHT_UP>
  /**
   * Returns whether the partition was at this position within the last LOOK_EVERY_MS. Refreshes the position in the
   * background, so that frequent callers never wait.
   */
  isCurrent(partition: number, version: ViewVersion): boolean
}

/** How long a position counts as current. */
const LOOK_EVERY_MS = 1_000
/** Age at which a position is refreshed in the background. */
const RENEW_AFTER_MS = 500

interface Look {
  readonly found: Promise<ViewVersion | typeof NOT_CAUGHT_UP>
  readonly at: number
}

/** @param now epoch ms */
export function viewVersions(reader: ViewReader, now: () => number): ViewVersions {
  const looks = new Map<number, Look>()
  /** The last known position of each partition, with the number of its read and the time at which the read began. */
  const known = new Map<number, { readonly version: ViewVersion; readonly at: number; readonly number: number }>()
  let begunReads = 0

  function look(partition: number): Look {
    const at = now()
    const number = ++begunReads
    const begun = { at, found: readAppliedOffsets(reader, TRENDS_VIEW, partition, [trendOutput.name, trendRenewals.name]) }
    looks.set(partition, begun)
    begun.found.then(
      (version) => keep(version === NOT_CAUGHT_UP ? undefined : { version, at, number }),
      () => keep(undefined),
    )
    return begun

    /** Stores the outcome of this read, unless a newer read has already returned a position. */
    function keep(position: { version: ViewVersion; at: number; number: number } | undefined): void {
      if ((known.get(partition)?.number ?? 0) > number) return
      if (position === undefined) forget(partition, begun)
      else known.set(partition, position)
    }
  }

  /** Discards the known position of a partition, so that the next caller reads it again. */
  function forget(partition: number, failed: Look): void {
    known.delete(partition)
    if (looks.get(partition) === failed) looks.delete(partition)
  }

  /** Returns the last read if it is younger than `ms`, or else a new read. */
  function lookWithin(partition: number, ms: number): Look {
    const last = looks.get(partition)
    return last !== undefined && isWithin(last.at, ms, now()) ? last : look(partition)
  }

  return {
    of: (partition) => lookWithin(partition, LOOK_EVERY_MS).found,
    isCurrent(partition, version) {
      lookWithin(partition, RENEW_AFTER_MS)
      const last = known.get(partition)
      return version !== undefined && last !== undefined && last.version === version && isWithin(last.at, LOOK_EVERY_MS, now())
    },
  }
}
