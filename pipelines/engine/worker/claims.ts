import { type GroupMember, partitionKey } from '../../../kafka/transport.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import { rangeOwner } from '../state/placement.ts'
import type { SeenGroup } from '../state/standby.ts'
import type { TaskPlace } from '../task/task-place.ts'

/** How long a member asks for missing partitions after the group has changed. Usually they come at once. */
const CLAIM_MS = 10_000
/** Pause between two such questions. A member would otherwise learn of freed partitions with its next heartbeat. */
const CLAIM_EVERY_MS = 200

/**
 * Asks for partitions that this member should get, after the group has changed. Nobody processes them between the
 * moment when their owner gives them up and the next heartbeat of their new owner.
 */
export interface Claims {
  /** Sends a heartbeat when one is due. Called in every turn of the worker's loop. */
  maintain(): void
  /** Begins to ask. A change of the member's epoch has the same effect. */
  open(): void
  /** True while partitions may be missing. */
  readonly areOpen: boolean
}

export interface ClaimDeps {
  readonly topology: string
  readonly group: Pick<GroupMember, 'memberId' | 'epoch' | 'heartbeat'>
  /** The group at the last look. */
  readonly seen: () => SeenGroup | undefined
  /** Every task of the topology. */
  readonly places: readonly TaskPlace[]
  /** Partition count of a task's sources. */
  readonly partitionsOf: (place: TaskPlace) => number
  /** The keys of the assigned partitions. */
  readonly assigned: () => ReadonlySet<string>
  readonly runtime: Runtime
}

export function claims({ topology, group, seen, places, partitionsOf, assigned, runtime }: ClaimDeps): Claims {
  let knownEpoch: number | undefined
  let until = -Infinity
  let next = -Infinity

  function open(): void {
    next = runtime.monotonic()
    until = next + CLAIM_MS
  }

  function lacksNothing({ makeup }: SeenGroup): boolean {
    const keys = assigned()
    return places
      .filter((place) => rangeOwner(makeup.active, place.partition, partitionsOf(place)) === group.memberId)
      .every((place) => place.sources.every(({ topic, partition }) => keys.has(partitionKey(topic, partition))))
  }

  return {
    maintain() {
      if (group.epoch !== knownEpoch) open()
      knownEpoch = group.epoch
      const now = runtime.monotonic()
      const known = seen()
      if (known === undefined || now < next || now >= until) return
      const isCurrent = known.epoch === group.epoch && known.makeup.active.includes(group.memberId)
      if (isCurrent && lacksNothing(known)) {
        until = -Infinity
        return
      }
      next = now + CLAIM_EVERY_MS
      // The events of the membership report a failure that matters.
      group.heartbeat().catch((error) => runtime.log.debug({ err: error, topology }, 'partitions_not_claimed'))
    },
    open,
    get areOpen() {
      return runtime.monotonic() < until
    },
  }
}
