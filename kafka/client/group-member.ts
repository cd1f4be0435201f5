import { endsWithin } from '../../runtime/ends-within.ts'
import { successorId } from '../member-ids.ts'
import { type GroupEvent, type GroupMember, type GroupOptions, type TopicPartition, TransportError } from '../transport.ts'
import { openAssignment } from './assignment.ts'
import type { Cluster } from './cluster.ts'
import { type Coordinator, openCoordinator } from './coordinator.ts'
import { classify, Disconnected, errorName, fatal, MemberFenced, untilClosed } from './errors.ts'
import { addressedClientId, describeMembers } from './group-members.ts'
import { commitOffsets, fetchCommitted, type OffsetOwner } from './group-offsets.ts'
import { heartbeatExchange } from './heartbeat.ts'
import { heartbeatLoop } from './heartbeat-loop.ts'
import type { GuardedMembership } from './kept-session.ts'
import { neighbourWatch } from './neighbour-watch.ts'
import type { Context } from './options.ts'
import { backoff } from './retry.ts'

/** Member epochs with a special meaning (KIP-848). */
const JOIN_EPOCH = 0
const LEAVE_EPOCH = -1
/** Heartbeat interval before the first response. Every response contains the interval of the group. */
const FIRST_INTERVAL_MS = 1_000
/**
 * A member that owns every partition of its topics sends a heartbeat only once in this many intervals. No other member
 * can give it partitions, so it need not learn of changes quickly. The shortest session that Kafka recommends lasts
 * three intervals, so the member stays in the group.
 */
const OWNER_OF_ALL_INTERVALS = 2
/**
 * A confirmation of the membership is valid for this many heartbeat intervals. This is longer than the usual time
 * between two heartbeats, and shorter than the shortest session that Kafka recommends.
 */
const CONFIRMED_INTERVALS = 2.5
/** First pause before an unanswered request for a confirmation is retried. */
const CONFIRM_RETRY_MS = 50
const LONGEST_CONFIRM_RETRY_MS = 1_000
/**
 * Maximum wait for the responses to the last heartbeat and to the request that leaves the group. Without a response,
 * the coordinator removes the member when its session times out.
 */
const LEAVE_TIMEOUT_MS = 3_000
/**
 * Shortest time between two reports of stalls in the log. Without free CPU time, a process with many groups would
 * otherwise write many lines per second.
 */
const BETWEEN_STALL_REPORTS_MS = 60_000

/**
 * States of a membership.
 * ```
 * idle ──join──▶ joining ──answered──▶ member ──fenced, rejoin──▶ fenced ──rejoin──▶ joining
 *                   └──refused──▶ failed ◀──refused──┘        any ──leave──▶ left
 * ```
 */
type State = 'idle' | 'joining' | 'member' | 'fenced' | 'failed' | 'left'

/** Opens a member of a KIP-848 group; see `GroupMember`. */
export function openGroupMember(
  context: Context,
  cluster: Cluster,
  options: GroupOptions,
  coordinator: Coordinator = openCoordinator(withAddress(context, options), cluster, 'group', options.groupId),
): GroupMember {
  const { runtime } = context
  const { log } = runtime
  const { groupId } = options
  let { topics } = options
  const heartbeats = heartbeatExchange(cluster, coordinator, options, () => topics)
  const assignment = openAssignment()
  const stopping = new AbortController()
  let memberId = options.memberId
  let epoch = JOIN_EPOCH
  let state: State = 'idle'
  /** Number of times that the member has begun to join. Answers to requests from before the last join are ignored. */
  let joins = 0
  let intervalMs = FIRST_INTERVAL_MS
  /**
   * True after the group has removed the member once. If so, the group's session timeout may be shorter than two
   * heartbeat intervals.
   */
  let wasFenced = false
  /** Monotonic time (ms) at which the member sent the last heartbeat that the coordinator has accepted. */
  let confirmedAt = Number.NEGATIVE_INFINITY
  let notice: string | undefined
  /** The last notice that the coordinator has confirmed. */
  let confirmedNotice: string | undefined
  let pendingEnd: GroupEvent | undefined
  let guarded: GuardedMembership | undefined
  /** The last state that was passed to the guard, kept to detect changes. */
  let guardedState = ''
  let stalls = 0
  let unreportedStalls = 0
  let stallsReportedAt = Number.NEGATIVE_INFINITY
  let running: Promise<void> | undefined
  const { hasEnded } = options
  const watch =
    hasEnded &&
    neighbourWatch({
      runtime,
      groupId,
      memberId: () => memberId,
      members: () => describeMembers(context, coordinator, groupId, stopping.signal),
      hasEnded,
      async remove(other) {
        const { errorCode } = await heartbeats.send({ id: other, epoch: LEAVE_EPOCH }, false, undefined)
        return errorName(errorCode) === 'NONE'
      },
      stopping: stopping.signal,
    })
  const heartbeat = heartbeatLoop({
    runtime,
    groupId,
    isMember,
    intervalMs: () => (ownsAll() && !wasFenced ? intervalMs * OWNER_OF_ALL_INTERVALS : intervalMs),
    exchange,
    failed(error) {
      if (state === 'member' || state === 'joining') fail(error)
    },
    stopping: stopping.signal,
  })

  function ownsAll(): boolean {
    let all = 0
    for (const topic of topics) all += cluster.partitionCount(topic) ?? Number.NaN
    return assignment.owned.length === all
  }

  /**
   * Checks after a heartbeat, while this process is awake anyway, whether the process of the neighbour has ended. If
   * so, removes the neighbour from the group. A member that owns all partitions skips the check, because it could not
   * take over anything.
   */
  async function watchNeighbour(): Promise<void> {
    if (watch === undefined || !isMember() || ownsAll()) return
    try {
      // The next heartbeat shows whether this member gets partitions of the removed member.
      if ((await watch.look()) && isMember()) heartbeat.hurry()
    } catch (error) {
      log.debug({ err: error, groupId }, 'kafka_neighbour_not_known')
    }
  }

  async function exchange(): Promise<void> {
    const joining = state === 'joining'
    const membership = joins
    takeGuardedEpoch()
    const report = assignment.nextReport()
    const sentAt = runtime.monotonic()
    const said = notice
    try {
      const news = report.full || said !== confirmedNotice ? said : undefined
      const answer = await heartbeats.send({ id: memberId, epoch: joining ? JOIN_EPOCH : epoch }, report.full, report.owned, news)
      // The membership that this response concerns may have ended in the meantime.
      if (isLeft() || membership !== joins || (!joining && !isMember())) return
      const name = errorName(answer.errorCode)
      if (name !== 'NONE') {
        refused(name, joining, answer.errorMessage)
        return
      }
      if (joining) {
        state = 'member'
        if (memberId !== options.memberId) options.onMemberId?.(memberId)
      }
      epoch = answer.memberEpoch
      confirmedAt = sentAt
      if (answer.heartbeatIntervalMs > 0) intervalMs = answer.heartbeatIntervalMs
      const assigned = await untilClosed(heartbeats.partitionsOf(answer), stopping.signal)
      if (membership !== joins) return
      report.confirmed()
      confirmedNotice = said
      if (isMember()) updateGuard()
      if (assigned !== undefined && assignment.setTarget(assigned, joining)) watch?.forgetMembers()
      if (assignment.hasChangedTarget) options.onEvent?.()
      void watchNeighbour()
    } catch (error) {
      // After a lost answer, neither the member nor the coordinator knows what the other side has received, so the next
      // heartbeat and its response contain all fields.
      assignment.forgetReported()
      throw error
    }
  }

  /**
   * Takes over the member epoch that the stall thread received while the event loop was blocked. The next heartbeat
   * contains all fields, because the thread ignores the assignments in the responses that it gets.
   * @returns whether the thread had received an epoch
   */
  function takeGuardedEpoch(): boolean {
    const guardedEpoch = guarded?.takeEpoch()
    if (guardedEpoch === undefined) return false
    stalls++
    unreportedStalls++
    reportStalls(guardedEpoch)
    epoch = Math.max(epoch, guardedEpoch)
    assignment.forgetReported()
    return true
  }

  function reportStalls(guardedEpoch: number): void {
    const now = runtime.monotonic()
    if (now - stallsReportedAt < BETWEEN_STALL_REPORTS_MS) return
    log.warn({ groupId, memberId, epoch, guardedEpoch, stalls: unreportedStalls }, 'kafka_membership_kept_in_a_stall')
    stallsReportedAt = now
    unreportedStalls = 0
  }

  function updateGuard(): void {
    if (context.stallGuard === undefined) return
    const owned = heartbeats.topicIds(assignment.owned)
    const session = { groupId, memberId, epoch, owned, intervalMs, clientId: withAddress(context, options).options.clientId }
    const described = JSON.stringify(session)
    if (guarded !== undefined && described === guardedState) return
    guarded ??= context.stallGuard.guard()
    guardedState = described
    guarded.update(session)
  }

  function releaseGuard(): void {
    guarded?.release()
    guarded = undefined
  }

  function refused(name: string, joining: boolean, detail: string | null | undefined): void {
    const kind = classify(name)
    if (kind === 'stale-coordinator') coordinator.forget()
    if (kind === 'stale-coordinator' || kind === 'passing') throw new Disconnected(`the group coordinator answered ${name}`)
    if (joining && (name === 'FENCED_MEMBER_EPOCH' || name === 'UNKNOWN_MEMBER_ID')) {
      // Kafka 4.0 and 4.1 refuse epoch 0 from a member that is still in the group (KAFKA-19233), so the member must
      // join with a new id.
      const refusedId = memberId
      memberId = successorId(memberId, runtime.id())
      log.warn({ groupId, refusedId, memberId, reason: name }, 'kafka_member_id_replaced')
      throw new Disconnected(`the group coordinator answered ${name} to the join request`)
    }
    if (kind === 'member-lost' || kind === 'member-epoch-old') {
      wasFenced = true
      end('fenced', { type: 'fenced', reason: name })
      log.warn({ groupId, memberId, epoch, reason: name }, 'kafka_member_fenced')
      return
    }
    fail(fatal(name, `heartbeat of group ${groupId}`, detail))
    log.error({ groupId, memberId, reason: name, detail }, 'kafka_member_failed')
  }

  function fail(error: Error): void {
    end('failed', { type: 'failed', error })
  }

  function end(as: 'fenced' | 'failed', event: GroupEvent): void {
    state = as
    releaseGuard()
    assignment.clear()
    pendingEnd = event
    options.onEvent?.()
  }

  // The state is read through functions, because the compiler assumes that the state does not change during an await.
  function isMember(): boolean {
    return state === 'member'
  }
  const isJoining = () => state === 'joining'
  const isLeft = () => state === 'left'
  const ended = () => pendingEnd

  async function join(): Promise<void> {
    if (isLeft()) return
    if (state !== 'idle' && state !== 'fenced')
      throw new TransportError('ILLEGAL_STATE', `a member in the state "${state}" cannot join`, { fatal: true })
    await running
    // The member may have left in the meantime, and must not come back.
    if (isLeft()) return
    state = 'joining'
    joins++
    epoch = JOIN_EPOCH
    pendingEnd = undefined
    assignment.clear()
    assignment.forgetReported()
    await untilClosed(cluster.refresh(topics), stopping.signal).catch((error) => {
      if (!isLeft() && !(error instanceof Disconnected)) throw error
    })
    await heartbeat.sendWhile(isJoining)
    const ending = ended()
    if (ending?.type === 'failed') throw ending.error
    if (isMember()) running = heartbeat.run()
  }

  /**
   * Joins again. A worker whose producer was fenced calls this function even while its member is still in the group.
   * From the call until it has joined, the member owns no partitions.
   */
  async function rejoin(): Promise<void> {
    if (state === 'member') {
      state = 'fenced'
      releaseGuard()
      heartbeat.wake()
    }
    return join()
  }

  function takeEvent(): GroupEvent | undefined {
    if (pendingEnd !== undefined) {
      const event = pendingEnd
      pendingEnd = undefined
      return event
    }
    // The stall thread may have sent heartbeats. It ignores the assignments in the responses, so the known target may
    // be outdated.
    if (isMember() && takeGuardedEpoch()) heartbeat.hurry()
    const partitions = assignment.takeChangedTarget()
    return partitions && { type: 'assignment', partitions }
  }

  function acknowledge(partitions: readonly TopicPartition[]): void {
    if (state !== 'member') return
    assignment.setOwned(partitions)
    // If the caller blocks the event loop before the next heartbeat, the stall thread must report exactly these
    // partitions.
    updateGuard()
    // Other members wait for the revoked partitions, so the coordinator must learn of the revocation now, not at the
    // next interval.
    heartbeat.hurry()
  }

  function subscribe(to: readonly string[]): void {
    topics = to
    // The next heartbeat must contain all fields, because they include the topics.
    assignment.forgetReported()
    heartbeat.hurry()
  }

  function announce(text: string): void {
    if (text === notice) return
    notice = text
    if (state === 'member') heartbeat.hurry()
  }

  async function confirmMembership(): Promise<void> {
    requireMember()
    await heartbeat.exchangeOnce()
    requireMember()
  }

  async function confirm(): Promise<void> {
    const retry = backoff({ runtime }, CONFIRM_RETRY_MS, LONGEST_CONFIRM_RETRY_MS)
    const deadline = runtime.monotonic() + context.options.deliveryTimeoutMs
    for (;;) {
      requireMember()
      if (runtime.monotonic() - confirmedAt <= CONFIRMED_INTERVALS * intervalMs) return
      try {
        await heartbeat.exchangeOnce()
      } catch (error) {
        if (!(error instanceof Disconnected)) throw error
        if (runtime.monotonic() > deadline)
          throw new TransportError(
            'NETWORK_EXCEPTION',
            `the coordinator of group ${groupId} did not confirm the membership of ${memberId} in time`,
            { fatal: false, cause: error },
          )
        await retry.wait(stopping.signal)
      }
    }
  }

  function requireMember(): void {
    if (state !== 'member') throw new MemberFenced(`member ${memberId} of group ${groupId} is ${state}`)
  }

  const owner: OffsetOwner = {
    groupId,
    get memberId() {
      return memberId
    },
    get epoch() {
      return epoch
    },
    heartbeat: confirmMembership,
    signal: stopping.signal,
  }

  async function sayGoodbye(): Promise<void> {
    try {
      await heartbeat.settle()
      await heartbeats.send({ id: memberId, epoch: LEAVE_EPOCH }, false, undefined)
    } catch (error) {
      log.debug({ err: error, groupId }, 'kafka_leave_unanswered')
    }
  }

  async function leave({ keepPlace = false } = {}): Promise<void> {
    if (state === 'left') return
    const wasMember = state === 'member' || state === 'joining'
    state = 'left'
    releaseGuard()
    heartbeat.wake()
    stopping.abort()
    if (wasMember && !keepPlace) await endsWithin(runtime, LEAVE_TIMEOUT_MS, sayGoodbye())
    await coordinator.close()
    if (running !== undefined) await endsWithin(runtime, LEAVE_TIMEOUT_MS, running)
  }

  return {
    groupId,
    get memberId() {
      return memberId
    },
    get epoch() {
      return epoch
    },
    get stalls() {
      return stalls
    },
    join,
    takeEvent,
    acknowledge,
    subscribe,
    announce,
    rejoin,
    heartbeat: confirmMembership,
    confirm,
    committed: (partitions) => fetchCommitted(context, coordinator, owner, partitions),
    members: () => describeMembers(context, coordinator, groupId, stopping.signal),
    commit: (offsets) => commitOffsets(context, coordinator, owner, offsets),
    leave,
  }
}

function withAddress(context: Context, { address }: GroupOptions): Context {
  return { ...context, options: { ...context.options, clientId: addressedClientId(context.options.clientId, address) } }
}
