import { slotOf } from '../../../kafka/member-ids.ts'
import type { GroupMember } from '../../../kafka/transport.ts'
import { type ChangelogOffsetDeps, fetchChangelogOffsets } from '../state/changelog-offsets.ts'
import type { InactiveState } from '../state/inactive-state.ts'
import { copiesNotice, type Makeup, makeupOf, NO_COPIES, nextMembers, notReady } from '../state/makeup.ts'
import { rangeOwner } from '../state/placement.ts'
import { recordsToRead } from '../state/restore.ts'
import type { SeenGroup } from '../state/standby.ts'
import type { TaskPlace } from '../task/task-place.ts'
import { type ClaimDeps, claims } from './claims.ts'
import { isPassing } from './membership.ts'

const RETRY_MS = 500

/** Settings that determine when and for how long a new worker copies state before it asks for partitions. */
export interface WarmUpSettings {
  /** How long a learner may wait after all earlier learners have become active; 0 turns warm-ups off. */
  readonly maxMs: number
  /** If the worker lacks fewer changelog records than this, it restores its state without a warm-up. */
  readonly leastRecords: number
}

/** The amount of state that remains to be copied during a warm-up. */
export interface WarmUpProgress {
  /** Number of tasks whose state the worker copies, including its standby copies. */
  readonly tasks: number
  /** Number of changelog offsets that the copies lack. */
  readonly remaining: number
}

/**
 * Lets a new worker copy the state of its future partitions before it asks the group for these partitions. Meanwhile
 * their current owners continue to process them. Until it asks, the worker is a learner: a member of the group that
 * subscribes to a changelog and to none of the sources. All other workers find the learner in the group, and copy the
 * state of the partitions that they will get when it becomes active.
 */
export interface WarmUp {
  /**
   * Joins the group as a learner if warm-ups are on, another worker is active, this worker's slot has no active member,
   * and this worker lacks at least `leastRecords` changelog records. Otherwise joins as an active member.
   */
  join(): Promise<void>
  /**
   * Called in every turn of the worker's loop. Does nothing if warm-ups are off or the topology has no changelogs. The
   * learner becomes active when the copies of all workers are complete, when no active worker is left, or `maxMs` after
   * all earlier learners have become active. An active worker asks for missing partitions (`Claims`).
   */
  maintain(): void
  /**
   * Progress of the warm-up; undefined if the worker does not have to wait for its partitions, or has received them.
   */
  readonly progress: WarmUpProgress | undefined
  /** True while the warm-up needs more frequent turns of the loop. */
  readonly isRestless: boolean
}

export interface WarmUpDeps extends Omit<ClaimDeps, 'seen' | 'group'>, ChangelogOffsetDeps {
  readonly settings: WarmUpSettings
  readonly group: GroupMember
  /** Topics to which active workers subscribe. */
  readonly sources: readonly string[]
  readonly inactive: Pick<InactiveState, 'group' | 'copies'>
  /** Fires when the worker stops. */
  readonly stopping: AbortSignal
}

/**
 * The phase is `learning` until the worker asks for partitions, and `claiming` until it has received them or no longer
 * asks for them.
 */
type Phase = 'learning' | 'claiming' | 'active'
type Reason = 'warm' | 'no-owner' | 'took-too-long'

export function warmUp(deps: WarmUpDeps): WarmUp {
  const { topology, settings, group, session, inactive, runtime, stopping } = deps
  const { log } = runtime
  const sources = new Set(deps.sources)
  const stateful = deps.places.filter(({ changelogs }) => changelogs.length > 0)
  const [changelog] = stateful.flatMap(({ changelogs }) => changelogs.map(({ topic }) => topic))
  const isOn = settings.maxMs > 0 && changelog !== undefined
  const claiming = claims({ ...deps, seen: () => inactive.group })
  let phase: Phase = 'active'
  let startedAt = 0
  /**
   * Monotonic time (ms) since which this worker has been the next learner to become active; undefined while it is not.
   */
  let firstSince: number | undefined

  async function join(): Promise<void> {
    if (isOn) {
      group.announce(NO_COPIES)
      const records = await missingRecords()
      if (records !== undefined && records >= settings.leastRecords) learnFirst(records)
    }
    await group.join()
  }

  function learnFirst(records: number): void {
    phase = 'learning'
    startedAt = runtime.monotonic()
    // A new subscription changes the epoch of the group, so that the other members notice the learner.
    group.subscribe([changelog])
    log.info({ topology, records }, 'warm_up_started')
  }

  /**
   * Returns how many records the worker's future tasks lack. Returns undefined if no warm-up is possible: no other
   * worker is active, this worker's slot still has an active member, the records cannot be counted, or the worker
   * stops.
   */
  async function missingRecords(): Promise<number | undefined> {
    while (!stopping.aborted) {
      try {
        const { active } = makeupOf(await group.members(), sources)
        const isKnown = active.some((id) => slotOf(id) === slotOf(group.memberId))
        if (active.length === 0 || isKnown) return undefined
        return await recordsOf(futurePlaces({ active, learners: [group.memberId] }))
      } catch (error) {
        if (!isPassing(error)) {
          log.warn({ err: error, topology }, 'warm_up_not_possible')
          return undefined
        }
        await runtime.sleep(RETRY_MS, stopping)
      }
    }
    return undefined
  }

  function futurePlaces(makeup: Makeup): TaskPlace[] {
    const members = nextMembers(makeup, group.memberId)
    return stateful.filter((place) => rangeOwner(members, place.partition, deps.partitionsOf(place)) === group.memberId)
  }

  async function recordsOf(places: readonly TaskPlace[]): Promise<number> {
    const offsets = await fetchChangelogOffsets(places, runtime.now(), deps)
    return places.reduce((sum, place) => sum + recordsToRead(session, place, offsets), 0)
  }

  /** Returns the reason why the learner can become active now; undefined while it must wait. */
  function reasonToEnd({ peers, makeup }: SeenGroup): Reason | undefined {
    if (makeup.active.length === 0) return 'no-owner'
    if (makeup.learners[0] !== group.memberId) {
      firstSince = undefined
      return undefined
    }
    firstSince ??= runtime.monotonic()
    if (runtime.monotonic() - firstSince >= settings.maxMs) return 'took-too-long'
    const notice = copiesNotice(makeup)
    const isReady = peers.find(({ memberId }) => memberId === group.memberId)?.notice === notice
    return isReady && notReady(peers, makeup, notice).length === 0 ? 'warm' : undefined
  }

  function learn(): void {
    const reason = inactive.group && reasonToEnd(inactive.group)
    if (reason === undefined) return
    const took_ms = Math.round(runtime.monotonic() - startedAt)
    log.info({ topology, reason, remaining: currentProgress().remaining, took_ms }, 'warm_up_ended')
    phase = 'claiming'
    group.subscribe(deps.sources)
    claiming.open()
  }

  function currentProgress(): WarmUpProgress {
    const copies = inactive.copies()
    return { tasks: copies.length, remaining: copies.reduce((sum, { behind }) => sum + behind, 0) }
  }

  return {
    join,
    maintain() {
      if (!isOn) return
      if (phase === 'learning') {
        learn()
        return
      }
      claiming.maintain()
      if (!claiming.areOpen) phase = 'active'
    },
    get progress() {
      return phase === 'active' ? undefined : currentProgress()
    },
    get isRestless() {
      return phase === 'learning' || claiming.areOpen
    },
  }
}
