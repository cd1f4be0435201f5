import type { EntityKind } from '../entity.ts'
import type { FraudEvent } from '../event.ts'
import type { FraudProfile } from '../types.ts'
import { newEvents, SEEN_COLUMNS, withNewEvents } from './fold.ts'
import { type Sighting, sightingsIn } from './seen.ts'
import type { ProfileShape } from './shape.ts'

/** A profile to which transactions are added a few at a time. */
export interface RunningFold {
  /**
   * The profile with all transactions that were added. This object does not change: each addition creates a new
   * profile.
   */
  readonly current: FraudProfile
  /**
   * Adds transactions to the profile.
   * @param events transactions that were not added before. The start profile may already include some of them
   */
  add(events: readonly FraudEvent[]): void
}

/** The entities of a kind that were seen: those in the profile, and those seen since. */
interface SeenEntities {
  readonly times: Map<number, readonly [first: number, last: number]>
  /** Hash of the entity that was added last; undefined if none was added. */
  hash: number | undefined
}

/**
 * Creates a fold that results in the same profile as a single `foldEvents` of all transactions, except for rounding in
 * mean and deviation. The fold remembers transactions and entities that leave the profile while others are added.
 * Without this memory, a profile that has reached its limits would count these transactions again, and would treat
 * these entities as new.
 * @param start the profile to which the transactions are added
 */
export function runningFold(start: FraudProfile, shape: ProfileShape): RunningFold {
  const seen = new Map<EntityKind, SeenEntities>()
  let current = start

  function seenOf(kind: EntityKind): SeenEntities {
    let known = seen.get(kind)
    if (known === undefined) {
      known = { times: sightingsIn(start[SEEN_COLUMNS[kind]]), hash: undefined }
      seen.set(kind, known)
    }
    return known
  }

  function sightingsOf(kind: EntityKind, added: readonly FraudEvent[]): Sighting[] {
    const known = seenOf(kind)
    const sightings: Sighting[] = []
    for (const event of added) {
      const hash = event[kind]
      if (hash === null) continue
      const [first, last] = known.times.get(hash) ?? [event.at, event.at]
      known.times.set(hash, [Math.min(first, event.at), Math.max(last, event.at)])
      known.hash = hash
      pushSightings(sightings, known, hash)
    }
    // A column drops old entities only when sightings are added. These transactions cause no sighting. A single fold of
    // all transactions would also add the earlier sightings, and would drop the entities that are now too old. The last
    // sighting is therefore added again.
    if (sightings.length === 0 && known.hash !== undefined) pushSightings(sightings, known, known.hash)
    return sightings
  }

  return {
    get current() {
      return current
    },
    add(events) {
      const added = newEvents(start, events)
      if (added.length > 0) current = withNewEvents(current, shape, added, sightingsOf)
    },
  }
}

function pushSightings(into: Sighting[], { times }: SeenEntities, hash: number): void {
  for (const at of times.get(hash)!) into.push({ hash, at })
}
