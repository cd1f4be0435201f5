import { type GroupMember, partitionKey } from '../../../kafka/transport.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import { rangeOwner } from '../state/placement.ts'
import type { SeenGroup } from '../state/standby.ts'
import type { TaskPlace } from '../task/task-place.ts'

/**
 * How long a member asks for missing partitions after the group has changed. Usually it gets the partitions at once.
 */
const CLAIM_MS = 10_000
/**
 * Pause between two requests for missing partitions. Without these requests, a member would learn of freed partitions
 * only with its next regular heartbeat.
 */
const CLAIM_EVERY_MS = 200

/**
 * Sends additional heartbeats after the group has changed, to get the partitions that this member should have. After
 * the old owner has given up a partition, no worker processes the partition until the next heartbeat of the new owner.
 * The additional heartbeats shorten this gap.
 */
export interface Claims {
  /** Sends an additional heartbeat if one is due. Called in every turn of the worker's loop. */
  maintain(): void
  /** Starts asking for missing partitions. This also happens automatically when the member's epoch changes. */
  open(): void
  /** True while partitions may be missing. */
  readonly areOpen: boolean
}

export interface ClaimDeps {
  readonly topology: string
  readonly group: Pick<GroupMember, 'memberId' | 'epoch' | 'heartbeat'>
  /** Returns the group as it was last fetched. */
  readonly seen: () => SeenGroup | undefined
  /** Every task of the topology. */
  readonly places: readonly TaskPlace[]
  /** Returns the partition count of a task's sources. */
  readonly partitionsOf: (place: TaskPlace) => number
  /** Returns the keys of the assigned partitions. */
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
      // A failure is logged at debug level only, because the membership reports every important failure as an event.
      group.heartbeat().catch((error) => runtime.log.debug({ err: error, topology }, 'partitions_not_claimed'))
    },
    open,
    get areOpen() {
      return runtime.monotonic() < until
    },
  }
}
