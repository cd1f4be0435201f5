import { trendOutput, trendRenewals } from '../../schemas/trends/topics.ts'
import { readAppliedOffsets } from '../../state/views/applied-offsets.ts'
import { TRENDS_VIEW } from '../../state/views/trends/trends.ts'
import { NOT_CAUGHT_UP, type ViewReader } from '../../state/views/view.ts'

/** Changes whenever a partition of the view does. Undefined when it is unknown: then nothing read from the partition may be reused. */
export type ViewVersion = string | undefined

/** Says for all lists of a partition at once whether they may have changed: one read of Redis instead of hundreds. */
export interface ViewVersions {
  /** At most LOOK_EVERY_MS old; concurrent callers share one read. */
  of(partition: number): Promise<ViewVersion | typeof NOT_CAUGHT_UP>
  /** Whether the partition had this version a moment ago. Refreshes in the background, so callers never wait while they keep coming. */
  isCurrent(partition: number, version: ViewVersion): boolean
}

/** How long an answer is trusted. */
const LOOK_EVERY_MS = 1_000
/** An older answer is refreshed in the background. */
const RENEW_AFTER_MS = 500

interface Look {
  readonly found: Promise<ViewVersion | typeof NOT_CAUGHT_UP>
  readonly at: number
}

/** @param now epoch ms */
export function viewVersions(reader: ViewReader, now: () => number): ViewVersions {
  const looks = new Map<number, Look>()
  /** The last answers, and when they were requested. */
  const known = new Map<number, { readonly version: ViewVersion; readonly at: number }>()

  function look(partition: number): Look {
    const at = now()
    const begun = { at, found: readAppliedOffsets(reader, TRENDS_VIEW, partition, [trendOutput.name, trendRenewals.name]) }
    looks.set(partition, begun)
    begun.found.then(
      (version) => (version === NOT_CAUGHT_UP ? forget(partition, begun) : known.set(partition, { version, at })),
      () => forget(partition, begun),
    )
    return begun
  }

  /** The next caller reads again. */
  function forget(partition: number, failed: Look): void {
    known.delete(partition)
    if (looks.get(partition) === failed) looks.delete(partition)
  }

  /** The last read, or a new one when that is older. */
  function lookWithin(partition: number, ms: number): Look {
    const last = looks.get(partition)
    return last !== undefined && now() - last.at < ms ? last : look(partition)
  }

  return {
    of: (partition) => lookWithin(partition, LOOK_EVERY_MS).found,
    isCurrent(partition, version) {
      lookWithin(partition, RENEW_AFTER_MS)
      const last = known.get(partition)
      return version !== undefined && last !== undefined && last.version === version && now() - last.at < LOOK_EVERY_MS
    },
  }
}
