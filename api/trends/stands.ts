import { trendOutput, trendRenewals } from '../../schemas/trends/topics.ts'
import { readStand } from '../../state/views/stand.ts'
import { TRENDS_VIEW } from '../../state/views/trends/trends.ts'
import { NOT_CAUGHT_UP, type ViewReader } from '../../state/views/view.ts'

/** Where a partition of the view stands; undefined: it cannot be told, so that nothing known of it may be used again. */
export type Stand = string | undefined

/** Tells for all lists of a partition at once whether they may have changed: one look instead of hundreds. */
export interface Stands {
  /** At most LOOK_EVERY_MS old; callers that come together share a look. */
  of(partition: number): Promise<Stand | typeof NOT_CAUGHT_UP>
  /** Whether the partition stood there a moment ago. Looks again beside the work, so that callers never wait while they keep coming. */
  isStill(partition: number, stand: Stand): boolean
}

/** What a look tells is believed for so long. */
const LOOK_EVERY_MS = 1_000
/** From then on it is renewed in the background. */
const RENEW_AFTER_MS = 500

interface Look {
  readonly found: Promise<Stand | typeof NOT_CAUGHT_UP>
  readonly at: number
}

/** @param now epoch ms */
export function stands(reader: ViewReader, now: () => number): Stands {
  const looks = new Map<number, Look>()
  /** The last answers, and when they were asked for. */
  const known = new Map<number, { readonly stand: Stand; readonly at: number }>()

  function look(partition: number): Look {
    const at = now()
    const begun = { at, found: readStand(reader, TRENDS_VIEW, partition, [trendOutput.name, trendRenewals.name]) }
    looks.set(partition, begun)
    begun.found.then(
      (stand) => (stand === NOT_CAUGHT_UP ? forget(partition, begun) : known.set(partition, { stand, at })),
      () => forget(partition, begun),
    )
    return begun
  }

  /** Nothing is believed, and the next caller looks again. */
  function forget(partition: number, failed: Look): void {
    known.delete(partition)
    if (looks.get(partition) === failed) looks.delete(partition)
  }

  /** The last look, or a new one when that is older. */
  function lookWithin(partition: number, ms: number): Look {
    const last = looks.get(partition)
    return last !== undefined && now() - last.at < ms ? last : look(partition)
  }

  return {
    of: (partition) => lookWithin(partition, LOOK_EVERY_MS).found,
    isStill(partition, stand) {
      lookWithin(partition, RENEW_AFTER_MS)
      const last = known.get(partition)
      return stand !== undefined && last !== undefined && last.stand === stand && now() - last.at < LOOK_EVERY_MS
    },
  }
}
