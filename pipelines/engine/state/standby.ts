import type { GroupView } from '../../../kafka/group-view.ts'
import {
  type Fetcher,
  type GroupPeer,
  type PartitionData,
  partitionKey,
  type Transport,
  UNKNOWN_LEADER_EPOCH,
} from '../../../kafka/transport.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import type { StateSession } from '../../../state/stores/store.ts'
import type { Changelog, TaskPlace } from '../task/task-place.ts'
import { CHANGELOG_DELETE_RETENTION_MS } from '../topology/internal-topics.ts'
import { fetchChangelogOffsets } from './changelog-offsets.ts'
import { changelogCopy } from './copy-changelog.ts'
import { copiesNotice, type Makeup, makeupOf, NO_COPIES, nextMembers } from './makeup.ts'
import { rangeOwner, standbyOwners } from './placement.ts'
import { forgetSources, planRestore, putComplete, putRestored, type StartOffsets } from './restore.ts'

/**
 * Interval at which the group's members are fetched, to decide which copies this worker keeps. It can be long, because
 * members rarely change.
 */
const LOOK_EVERY_MS = 2_000
/**
 * Interval at which the group's members are fetched if the topology has no standby copies and no worker is joining.
 * With warm-ups, a worker also fetches the members when its epoch has changed, so this interval matters only if that
 * fetch came too early.
 */
const RARE_LOOK_EVERY_MS = 30_000
/**
 * Interval at which a joining worker fetches the group's members while it waits for the copies to be complete. It is
 * also the minimum time between two fetches after the epoch has changed.
 */
const LEARNER_LOOK_EVERY_MS = 500
/** Delay after a failure (disk full, a recreated changelog) before the copies restart from their written positions. */
const RETRY_MS = 5_000
/**
 * Interval at which the write time of a copy is refreshed while its changelog is idle. If the write time is too old and
 * the changelog then gets further records, the state must be restored from the beginning.
 */
const AGE_REFRESH_MS = 60_000
const MIB = 1_048_576
/**
 * Maximum bytes of changelog records that copies take in one turn of the worker's loop. Copying this much takes about 9
 * ms (3 µs per row of 170 bytes), so a new copy does not delay processing.
 */
const SHARED_POLL_BYTES = MIB / 2
/**
 * Like `SHARED_POLL_BYTES`, for a worker that runs no tasks. No processing is delayed there, so the limit is higher.
 */
const MAX_POLL_BYTES = 2 * MIB
const MAX_BUFFERED_BYTES = 8 * MIB
/**
 * A copy that lacks at most this number of records is good enough for a hand-over, because reading the missing records
 * takes only about 30 ms.
 */
const NEARLY_COMPLETE = 10_000
/** Interval at which an idle changelog is fetched. A copy is only as current as the last fetch of its changelog. */
const MAX_WAIT_MS = 500

/** The progress of a standby copy. */
export interface StandbyCopy {
  readonly task: string
  /** Number of committed changelog offsets that were not copied yet at the last fetch. */
  readonly behind: number
  /**
   * The oldest of the times (epoch ms) at which each log was last read to its end; undefined if one of the logs has not
   * been read to its end since the copy began, or since this log lost records.
   */
  readonly completeAt: number | undefined
}

/**
 * Keeps standby copies for tasks of other workers by following the changelogs of these tasks. Only the worker's loop
 * calls its methods.
 */
export interface Standbys {
  /**
   * Writes the changelog records that have arrived. From time to time, also checks which copies this worker should
   * keep.
   */
  maintain(): Promise<void>
  /** Ends the copy of a task that will run on this worker. */
  release(taskId: string): void
  copy(taskId: string): StandbyCopy | undefined
  all(): StandbyCopy[]
  /** The group's members at the last fetch; undefined before the first fetch. */
  readonly group: SeenGroup | undefined
  /** True while a copy receives records and still lacks many. The worker's loop should then not wait. */
  readonly catchingUp: boolean
  close(): Promise<void>
}

/** The members of the group when they were last fetched. */
export interface SeenGroup {
  readonly peers: readonly GroupPeer[]
  readonly makeup: Makeup
  /** The epoch of this member when the members were requested. */
  readonly epoch: number
}

export interface StandbyDeps {
  readonly topology: string
  /** Number of copies per task in addition to the active one. */
  readonly copies: number
  /** Every task of the topology. */
  readonly places: readonly TaskPlace[]
  /** Returns the partition count of a task's sources. */
  readonly partitionsOf: (place: TaskPlace) => number
  readonly transport: Pick<Transport, 'offsets' | 'topicIds' | 'epochEnds' | 'fetcher'>
  /** The session through which copies are written. The running tasks use a different session. */
  readonly session: StateSession
  readonly group: GroupView
  /** Topics to which active workers subscribe. */
  readonly sources: ReadonlySet<string>
  /** True if this worker also copies the state of tasks that it will get when the next learner becomes active. */
  readonly warmUps: boolean
  /**
   * Publishes a notice to the other members: whether this worker has the copies that it needs before the next learner
   * becomes active.
   */
  readonly announce: (notice: string) => void
  /** The epoch of this member. The epoch changes when other members join, leave or subscribe. */
  readonly epoch: () => number
  readonly memberId: () => string
  /** Returns true for tasks that run on this worker. */
  readonly runsHere: (taskId: string) => boolean
  /** Returns true when any task runs on this worker. */
  readonly isBusy: () => boolean
  /**
   * Returns true while tasks of this worker restore their state. Copies wait in the meantime, because restoring is more
   * urgent: no worker processes those tasks.
   */
  readonly isRestoring: () => boolean
  readonly exactlyOnce: boolean
  readonly runtime: Runtime
}

interface Followed {
  readonly changelog: Changelog
  position: number
  behind: number
  completeAt: number | undefined
  /** When the log was last read, epoch ms. */
  fetchedAt: number
}

interface Copy {
  readonly place: TaskPlace
  /** The followed changelogs, keyed by partition key; empty until the ends of the logs are known. */
  readonly logs: Map<string, Followed>
  following: boolean
  writtenAt: number
}

export function standbys(deps: StandbyDeps): Standbys {
  const { topology, session, runtime } = deps
  const { log } = runtime
  const fetcher: Fetcher = deps.transport.fetcher({
    maxWaitMs: MAX_WAIT_MS,
    maxPollBytes: MAX_POLL_BYTES,
    maxBufferedBytes: MAX_BUFFERED_BYTES,
  })
  const copyRecords = changelogCopy(session)
  const none: Makeup = { active: [], learners: [] }
  const copies = new Map<string, Copy>()
  /** The copy to which each changelog belongs, keyed by the changelog's partition key. */
  const owners = new Map<string, Copy>()
  let looking = false
  let lastLook = -Infinity
  /** After a failure, the monotonic time (ms) from which the group's members may be fetched again. */
  let pausedUntil = -Infinity
  let seen: SeenGroup | undefined
  let catchingUp = false
  /** Results of requests that ran outside the loop. The loop applies them. */
  let answers: (() => void)[] = []

  function lookEveryMs(): number {
    const makeup = seen?.makeup ?? none
    if (deps.warmUps && !makeup.active.includes(deps.memberId())) return LEARNER_LOOK_EVERY_MS
    return deps.copies > 0 || makeup.learners.length > 0 ? LOOK_EVERY_MS : RARE_LOOK_EVERY_MS
  }

  function lookBeside(): void {
    const now = runtime.monotonic()
    if (looking || now < pausedUntil) return
    const epoch = deps.epoch()
    const isNews = deps.warmUps && seen?.epoch !== epoch
    const dueAt = lastLook + (isNews ? LEARNER_LOOK_EVERY_MS : lookEveryMs())
    if (now < dueAt) return
    looking = true
    lastLook = now
    deps.group
      .members(isNews ? 0 : lookEveryMs() / 2)
      .then(
        (peers) => answers.push(() => reconcile(peers, epoch)),
        (error) => log.debug({ err: error, topology }, 'group_not_described'),
      )
      .finally(() => {
        looking = false
      })
  }

  function isStandby({ active }: Makeup, place: TaskPlace): boolean {
    return standbyOwners(active, place.partition, deps.partitionsOf(place), deps.copies).includes(deps.memberId())
  }

  /** Returns true for tasks that are about to move to this worker, so that their copies are kept until then. */
  function shouldRunHere({ active }: Makeup, place: TaskPlace): boolean {
    return deps.warmUps && rangeOwner(active, place.partition, deps.partitionsOf(place)) === deps.memberId()
  }

  /** Returns true for tasks that will run on this worker when `nextMembers` share the partitions. */
  function willRunHere(makeup: Makeup, place: TaskPlace): boolean {
    if (!deps.warmUps || makeup.learners.length === 0) return false
    const me = deps.memberId()
    return rangeOwner(nextMembers(makeup, me), place.partition, deps.partitionsOf(place)) === me
  }

  function reconcile(peers: readonly GroupPeer[], epoch: number): void {
    const makeup = makeupOf(peers, deps.sources)
    seen = { peers, makeup, epoch }
    const canRunElsewhere = deps.places.filter((place) => place.changelogs.length > 0 && !deps.runsHere(place.id))
    const wanted = canRunElsewhere.filter((place) => isStandby(makeup, place) || willRunHere(makeup, place))
    const kept = new Set([...wanted, ...canRunElsewhere.filter((place) => shouldRunHere(makeup, place))].map(({ id }) => id))
    for (const id of [...copies.keys()]) if (!kept.has(id)) end(id)
    const fresh = wanted
      .filter(({ id }) => !copies.has(id))
      .map((place): Copy => ({ place, logs: new Map(), following: false, writtenAt: runtime.monotonic() }))
    for (const copy of fresh) copies.set(copy.place.id, copy)
    if (fresh.length > 0) askBeside(fresh)
  }

  function askBeside(fresh: readonly Copy[]): void {
    const places = fresh.map(({ place }) => place)
    // Skips copies that have ended since their changelog offsets were requested. The task of such a copy may have run
    // here in the meantime, so the offsets may no longer match the state on disk. If a new copy of the same task has
    // begun, it has requested offsets of its own.
    const stillWanted = () => fresh.filter((copy) => copies.get(copy.place.id) === copy)
    fetchChangelogOffsets(places, runtime.now(), deps).then(
      (offsets) =>
        answers.push(() => {
          for (const copy of stillWanted()) follow(copy, offsets)
        }),
      (error) => {
        log.debug({ err: error, topology }, 'standby_offsets_not_known')
        answers.push(() => {
          for (const { place } of stillWanted()) end(place.id)
        })
      },
    )
  }

  function follow(copy: Copy, offsets: StartOffsets): void {
    const { place } = copy
    if (deps.runsHere(place.id)) return
    copy.following = true
    forgetSources(session, place)
    for (const { changelog, from, leaderEpoch, to } of planRestore(session, place, offsets)) {
      const key = partitionKey(changelog.topic, changelog.partition)
      putRestored(session, changelog, from, leaderEpoch)
      copy.logs.set(key, { changelog, position: from, behind: to - from, completeAt: undefined, fetchedAt: offsets.now })
      owners.set(key, copy)
      fetcher.assign(changelog, from, 'rebuild', leaderEpoch)
    }
    session.write()
    log.info({ topology, task: place.id, behind: stateOf(copy).behind }, 'standby_started')
  }

  function end(taskId: string): void {
    const copy = copies.get(taskId)
    if (copy === undefined) return
    copies.delete(taskId)
    for (const [key, { changelog }] of copy.logs) {
      owners.delete(key)
      fetcher.unassign(changelog)
    }
  }

  /** Copies fetched records into the open batch. @returns true when there is something to write */
  function take(data: PartitionData): boolean {
    const key = partitionKey(data.topic, data.partition)
    const copy = owners.get(key)
    const followed = copy?.logs.get(key)
    if (copy === undefined || followed === undefined) return false
    // If a log has lost records and has then grown to its old end again, the position of the copy has not moved, so the
    // reset is checked as well.
    const moved = data.wasReset === true || data.nextOffset !== followed.position
    // After such a long pause (the process was suspended or cut off from the broker), the log may lack tombstones of
    // rows that the copy contains.
    if (moved && data.fetchedAt - followed.fetchedAt > CHANGELOG_DELETE_RETENTION_MS)
      throw new Error(`${key} was not read for longer than the broker keeps tombstones, so the copy is rebuilt`)
    followed.fetchedAt = data.fetchedAt
    if (data.wasReset) followed.completeAt = undefined
    followed.position = data.nextOffset
    followed.behind = Math.max(0, data.lastStableOffset - data.nextOffset)
    if (followed.behind === 0) followed.completeAt = data.fetchedAt
    if (!moved && runtime.monotonic() - copy.writtenAt < AGE_REFRESH_MS) return false
    copyRecords(followed.changelog, data)
    putRestored(session, followed.changelog, data.nextOffset, data.leaderEpoch ?? UNKNOWN_LEADER_EPOCH)
    const { completeAt } = stateOf(copy)
    if (completeAt !== undefined) putComplete(session, copy.place, completeAt)
    copy.writtenAt = runtime.monotonic()
    return true
  }

  /**
   * Returns true when every task for which `willRunHere` returns true either runs here already or has a nearly complete
   * copy here.
   */
  function hasCopies(makeup: Makeup): boolean {
    return deps.places
      .filter((place) => place.changelogs.length > 0 && !deps.runsHere(place.id) && willRunHere(makeup, place))
      .every(({ id }) => {
        const copy = copies.get(id)
        return copy?.following === true && stateOf(copy).behind <= NEARLY_COMPLETE
      })
  }

  function announceCopies(): void {
    if (!deps.warmUps || seen === undefined) return
    const { makeup } = seen
    // Every learner announces its copies, but the other workers read only the notices of active workers and of the
    // first learner.
    const isReady = makeup.learners.length > 0 && hasCopies(makeup)
    deps.announce(isReady ? copiesNotice(makeup) : NO_COPIES)
  }

  function startAgain(error: unknown): void {
    log.warn({ err: error, topology }, 'standby_failed')
    session.dropBatch()
    for (const id of [...copies.keys()]) end(id)
    pausedUntil = runtime.monotonic() + RETRY_MS
    lastLook = -Infinity
  }

  function stateOf({ place, logs, following }: Copy): StandbyCopy {
    const all = [...logs.values()]
    const complete = following && all.every(({ completeAt }) => completeAt !== undefined)
    return {
      task: place.id,
      behind: all.reduce((sum, { behind }) => sum + behind, 0),
      completeAt: complete ? Math.min(...all.map(({ completeAt }) => completeAt as number)) : undefined,
    }
  }

  return {
    async maintain() {
      lookBeside()
      const arrived = answers
      answers = []
      try {
        for (const answer of arrived) answer()
        let taken = false
        if (owners.size > 0 && !deps.isRestoring() && !session.isOverloaded()) {
          const maxBytes = deps.isBusy() ? SHARED_POLL_BYTES : undefined
          for (const data of await fetcher.poll(0, maxBytes)) taken = take(data) || taken
        }
        if (taken) session.write()
        catchingUp = taken && [...copies.values()].some((copy) => stateOf(copy).behind > NEARLY_COMPLETE)
        announceCopies()
      } catch (error) {
        startAgain(error)
      }
    },
    release: end,
    copy(taskId) {
      const copy = copies.get(taskId)
      return copy && stateOf(copy)
    },
    all: () => [...copies.values()].map(stateOf),
    get group() {
      return seen
    },
    get catchingUp() {
      return catchingUp
    },
    close: fetcher.close,
  }
}
