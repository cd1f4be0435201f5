import { slotOf } from '../../../kafka/member-ids.ts'
import { type GroupMember, partitionKey, type Transport } from '../../../kafka/transport.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import type { StateSession } from '../../../state/stores/store.ts'
import type { InactiveState } from '../state/inactive-state.ts'
import { copiesNotice, type Makeup, makeupOf, NO_COPIES, nextMembers, notReady } from '../state/makeup.ts'
import { rangeOwner } from '../state/placement.ts'
import { epochQueries, recordsToRead } from '../state/restore.ts'
import type { TaskPlace } from '../task/task-place.ts'
import { isPassing } from './membership.ts'

const RETRY_MS = 500
/** How long a member asks for partitions that it should have, after the group has changed. Usually they come at once. */
const CLAIM_MS = 10_000
/** Pause between two such questions. A member would otherwise learn of freed partitions with its next heartbeat. */
const CLAIM_EVERY_MS = 200

/** When and how long a new worker copies state before it asks for partitions. */
export interface WarmUpSettings {
  /** How long it waits at most; 0 turns warm-ups off. */
  readonly maxMs: number
  /** Without a warm-up, it restores up to this many changelog records. */
  readonly leastRecords: number
}

/** What a worker that warms up still has to copy. */
export interface WarmUpProgress {
  /** Number of tasks whose state it copies. */
  readonly tasks: number
  /** Number of changelog offsets that the copies lack. */
  readonly remaining: number
}

/**
 * Lets a worker copy the state of its future partitions before it asks the group for them, while their owners continue.
 * Until then it is a learner: a member of the group that subscribes to a changelog and to none of the sources. All
 * workers see it and copy what they will get when it becomes active.
 */
export interface WarmUp {
  /** Joins the group, as a learner if there is much to copy. */
  join(): Promise<void>
  /** Called in every turn of the worker's loop. Becomes active when the copies are complete everywhere. */
  maintain(): void
  /** Undefined while the worker is, or has become, an active member with its partitions. */
  readonly progress: WarmUpProgress | undefined
  /** True while something happens that needs the loop to turn more often. */
  readonly isRestless: boolean
}

export interface WarmUpDeps {
  readonly topology: string
  readonly settings: WarmUpSettings
  readonly group: GroupMember
  readonly transport: Pick<Transport, 'offsets' | 'topicIds' | 'epochEnds'>
  readonly session: StateSession
  /** Topics to which active workers subscribe. */
  readonly sources: readonly string[]
  /** Every task of the topology. */
  readonly places: readonly TaskPlace[]
  /** Partition count of a task's sources. */
  readonly partitionsOf: (place: TaskPlace) => number
  /** The keys of the assigned partitions. */
  readonly assigned: () => ReadonlySet<string>
  readonly inactive: Pick<InactiveState, 'group' | 'copies'>
  readonly exactlyOnce: boolean
  readonly runtime: Runtime
  /** Fires when the worker stops. */
  readonly stopping: AbortSignal
}

/** `learning` before it has asked for partitions, `claiming` until it has got them. */
type Phase = 'learning' | 'claiming' | 'active'

export function warmUp(deps: WarmUpDeps): WarmUp {
  const { topology, settings, group, transport, session, inactive, runtime, stopping } = deps
  const { log } = runtime
  const sources = new Set(deps.sources)
  const stateful = deps.places.filter(({ changelogs }) => changelogs.length > 0)
  const [changelog] = stateful.flatMap(({ changelogs }) => changelogs.map(({ topic }) => topic))
  const isOn = settings.maxMs > 0 && changelog !== undefined
  let phase: Phase = 'active'
  let startedAt = 0
  /** When this worker became the next one to be active. */
  let firstSince: number | undefined
  let knownEpoch: number | undefined
  let claimsUntil = -Infinity
  let nextClaim = -Infinity

  async function join(): Promise<void> {
    if (isOn) {
      group.announce(NO_COPIES)
      const records = await missingRecords()
      if (records !== undefined && records >= settings.leastRecords) {
        phase = 'learning'
        startedAt = runtime.monotonic()
        // Each member of a group subscribes to something. This also lets the others notice that the group has changed.
        group.subscribe([changelog])
        log.info({ topology, records }, 'warm_up_started')
      }
    }
    await group.join()
  }

  /** Returns how many records its future tasks lack; undefined when nobody else can process its partitions. */
  async function missingRecords(): Promise<number | undefined> {
    while (!stopping.aborted) {
      try {
        const makeup = makeupOf(await group.members(), sources)
        const isKnown = makeup.active.some((id) => slotOf(id) === slotOf(group.memberId))
        if (makeup.active.length === 0 || isKnown) return undefined
        return await recordsOf(futurePlaces({ active: makeup.active, learners: [group.memberId] }))
      } catch (error) {
        if (stopping.aborted) break
        if (!isPassing(error)) {
          log.warn({ err: error, topology }, 'warm_up_not_possible')
          break
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
    const changelogs = places.flatMap((place) => place.changelogs)
    const now = runtime.now()
    const [changelogIds, changelogStarts, changelogEnds, changelogEpochEnds] = await Promise.all([
      transport.topicIds([...new Set(changelogs.map(({ topic }) => topic))]),
      transport.offsets(changelogs, 'earliest'),
      transport.offsets(changelogs, 'end'),
      transport.epochEnds(epochQueries(session, places)),
    ])
    const { exactlyOnce } = deps
    const offsets = { committed: new Map(), changelogStarts, changelogEnds, changelogEpochEnds, changelogIds, now, exactlyOnce }
    return places.reduce((sum, place) => sum + recordsToRead(session, place, offsets), 0)
  }

  function learn(): void {
    const seen = inactive.group
    if (seen === undefined) return
    const { peers, makeup } = seen
    if (makeup.active.length === 0) return become('no-owner')
    if (makeup.learners[0] !== group.memberId) {
      firstSince = undefined
      return
    }
    firstSince ??= runtime.monotonic()
    if (runtime.monotonic() - firstSince >= settings.maxMs) return become('took-too-long')
    const notice = copiesNotice(makeup)
    const isReady = peers.find(({ memberId }) => memberId === group.memberId)?.notice === notice
    if (isReady && notReady(peers, makeup, notice).length === 0) become('warm')
  }

  function become(reason: 'warm' | 'no-owner' | 'took-too-long'): void {
    const { remaining } = currentProgress()
    const took_ms = Math.round(runtime.monotonic() - startedAt)
    log.info({ topology, reason, remaining, took_ms }, 'warm_up_ended')
    phase = 'claiming'
    group.subscribe(deps.sources)
    openClaim()
  }

  function openClaim(): void {
    claimsUntil = runtime.monotonic() + CLAIM_MS
    nextClaim = runtime.monotonic()
  }

  /** Asks for partitions that should come, instead of waiting for the next heartbeat. */
  function claim(): void {
    if (group.epoch !== knownEpoch) {
      knownEpoch = group.epoch
      openClaim()
    }
    const now = runtime.monotonic()
    if (now >= claimsUntil) return endClaim()
    const seen = inactive.group
    if (seen === undefined || now < nextClaim) return
    const isSettled = seen.epoch === group.epoch && seen.makeup.active.includes(group.memberId)
    if (isSettled && lacksNothing(seen.makeup)) return endClaim()
    nextClaim = now + CLAIM_EVERY_MS
    // A failure has consequences through the events of the membership.
    group.heartbeat().catch((error) => log.debug({ err: error, topology }, 'partitions_not_claimed'))
  }

  function endClaim(): void {
    claimsUntil = -Infinity
    if (phase === 'claiming') phase = 'active'
  }

  function lacksNothing({ active }: Makeup): boolean {
    const assigned = deps.assigned()
    return deps.places
      .filter((place) => rangeOwner(active, place.partition, deps.partitionsOf(place)) === group.memberId)
      .every((place) => place.sources.every(({ topic, partition }) => assigned.has(partitionKey(topic, partition))))
  }

  function currentProgress(): WarmUpProgress {
    const copies = inactive.copies()
    return { tasks: copies.length, remaining: copies.reduce((sum, { behind }) => sum + behind, 0) }
  }

  return {
    join,
    maintain() {
      if (!isOn) return
      if (phase === 'learning') learn()
      else claim()
    },
    get progress() {
      return phase === 'active' ? undefined : currentProgress()
    },
    get isRestless() {
      return phase !== 'active' || runtime.monotonic() < claimsUntil
    },
  }
}
