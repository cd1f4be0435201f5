import {
  FencedError,
  type GroupEvent,
  type GroupMember,
  partitionKey,
  type TopicPartition,
  type Transport,
} from '../../../kafka/transport.ts'
import type { CancelTimer, Runtime } from '../../../runtime/runtime.ts'
import { sharedQuestion } from './shared-question.ts'

export interface SinkGroupOptions {
  /** The consumer group in which processes with the same sinks share their partitions. */
  readonly groupId: string
  /** A unique id that stays the same across restarts, so that a restarted process gets its partitions back at once. */
  readonly memberId: string
  /**
   * Called with a new member id when the brokers have refused the previous one. The function must store the new id for
   * the next start.
   */
  readonly keepMemberId?: (memberId: string) => void
  /** See `GroupOptions`. */
  readonly address?: string
  /** See `GroupOptions`. */
  readonly hasEnded?: (address: string) => Promise<boolean>
}

export interface SinkGroupDeps {
  readonly transport: Transport
  readonly runtime: Pick<Runtime, 'setTimer' | 'log'>
}

/**
 * A group member that several sinks of a process share. The member subscribes to the topics of all of its sinks. It
 * acknowledges a revocation only when every sink has given up its revoked partitions, because one acknowledgement
 * returns all of these partitions to the coordinator. A sink whose database hangs would delay the others, so only sinks
 * that write to the same database share a group.
 */
export interface SinkGroup {
  readonly groupId: string
  /**
   * Creates a seat for one more sink. Create the seats for all sinks before the first sink starts, because the member
   * does not wait for sinks without a seat.
   */
  seat(): SinkSeat
}

/**
 * The methods through which a sink or a job uses the group. Only its loop calls them, except `confirmMembership`, which
 * background work calls too.
 */
export interface SinkSeat {
  /**
   * Subscribes the member to the sink's topics as well.
   * @param sink its `wake` ends the wait of the sink's loop, so that the loop calls `assigned`
   */
  take(sink: SeatedSink): void
  /**
   * Returns the assignment of the sink; undefined before the first assignment and while a fenced member rejoins.
   * @throws the error that ended the membership
   */
  assigned(): SinkAssignment | undefined
  /** Must be called when the sink has given up all partitions that are not in the assignment. */
  settle(assignment: SinkAssignment): void
  /** Checks with the group coordinator that the member is still in the group. @throws FencedError when it is not */
  confirmMembership(): Promise<void>
  /** Ends the sink's use of the group. Partitions that no other sink of this process reads go to other processes. */
  leave(): Promise<void>
}

export interface SeatedSink {
  readonly topics: readonly string[]
  wake(): void
}

export interface SinkAssignment {
  /** Identifies the assignment. Increases with every change. */
  readonly number: number
  readonly partitions: ReadonlyMap<string, TopicPartition>
  /** True when the membership is lost. All partitions are then lost too. */
  readonly isFenced: boolean
}

/**
 * How long ready sinks wait for the other sinks before the member joins. If the member joined without the topics of the
 * other sinks, another process would briefly get their partitions. The wait is limited, because a sink whose database
 * is unreachable must not delay the other sinks for longer.
 */
const JOIN_GRACE_MS = 2_000

export function sinkGroup(options: SinkGroupOptions, { transport, runtime }: SinkGroupDeps): SinkGroup {
  const { groupId } = options
  const expected = new Set<SinkSeat>()
  const seated = new Map<SinkSeat, SeatedSink>()
  /** For each sink, the number of the latest assignment that it has settled. */
  const settled = new Map<SinkSeat, number>()
  let member: GroupMember | undefined
  let subscribed: readonly string[] = []
  let cancelGrace: CancelTimer | undefined
  let current: SinkAssignment | undefined
  let changes = 0
  /** True while this member still has to acknowledge the current assignment to the coordinator. */
  let owesAnswer = false
  let failure: Error | undefined
  const confirmMembership = sharedQuestion(async () => {
    if (member === undefined) throw new FencedError(`this process is not a member of group ${groupId}`)
    await member.heartbeat()
  })

  function wakeAll(): void {
    for (const sink of seated.values()) sink.wake()
  }

  function fail(error: Error): void {
    failure ??= error
    wakeAll()
  }

  function joinWhenComplete(): void {
    if (member !== undefined || seated.size === 0) return
    if (expected.size === 0) join()
    else cancelGrace ??= runtime.setTimer(JOIN_GRACE_MS, join)
  }

  function join(): void {
    cancelGrace?.()
    cancelGrace = undefined
    if (member !== undefined || seated.size === 0) return
    subscribed = topicsOfAll()
    member = transport.groupMember({
      groupId,
      memberId: options.memberId,
      onMemberId: options.keepMemberId,
      onEvent: wakeAll,
      address: options.address,
      hasEnded: options.hasEnded,
      topics: subscribed,
    })
    member.join().catch(fail)
  }

  function topicsOfAll(): string[] {
    return [...new Set([...seated.values()].flatMap(({ topics }) => topics))].sort()
  }

  function subscribeAnew(): void {
    const topics = topicsOfAll()
    if (member === undefined || topics.join() === subscribed.join()) return
    subscribed = topics
    member.subscribe(topics)
  }

  function takeEvents(): void {
    for (let event = member?.takeEvent(); event !== undefined; event = member?.takeEvent()) takeEvent(event)
  }

  function takeEvent(event: GroupEvent): void {
    switch (event.type) {
      case 'assignment':
        change(event.partitions, false)
        return
      case 'fenced':
        runtime.log.warn({ group: groupId, reason: event.reason }, 'sink_group_fenced')
        change([], true)
        return
      case 'failed':
        fail(event.error)
    }
  }

  function change(partitions: readonly TopicPartition[], isFenced: boolean): void {
    changes++
    current = { number: changes, partitions: new Map(partitions.map((each) => [partitionKey(each.topic, each.partition), each])), isFenced }
    owesAnswer = true
    wakeAll()
  }

  function answerWhenSettled(): void {
    if (!owesAnswer || current === undefined || member === undefined) return
    const { number, partitions, isFenced } = current
    if ([...seated.keys()].some((seat) => settled.get(seat) !== number)) return
    owesAnswer = false
    if (!isFenced) {
      member.acknowledge([...partitions.values()])
      return
    }
    current = undefined
    member.rejoin().catch(fail)
  }

  async function leave(seat: SinkSeat): Promise<void> {
    expected.delete(seat)
    settled.delete(seat)
    const wasSeated = seated.delete(seat)
    if (seated.size > 0 || !wasSeated) {
      joinWhenComplete()
      subscribeAnew()
      answerWhenSettled()
      return
    }
    cancelGrace?.()
    cancelGrace = undefined
    const leaving = member
    member = undefined
    current = undefined
    owesAnswer = false
    await leaving?.leave()
  }

  return {
    groupId,
    seat() {
      /** The sink's part of the current assignment. */
      let share: SinkAssignment | undefined
      const seat: SinkSeat = {
        take(sink) {
          expected.delete(seat)
          seated.set(seat, sink)
          joinWhenComplete()
          subscribeAnew()
        },
        assigned() {
          takeEvents()
          if (failure !== undefined) throw failure
          const topics = seated.get(seat)?.topics
          if (current === undefined || topics === undefined) share = undefined
          else if (share?.number !== current.number) share = { ...current, partitions: ofTopics(current.partitions, topics) }
          return share
        },
        settle({ number }) {
          settled.set(seat, number)
          answerWhenSettled()
        },
        confirmMembership,
        leave: () => leave(seat),
      }
      expected.add(seat)
      return seat
    },
  }
}

function ofTopics(partitions: ReadonlyMap<string, TopicPartition>, topics: readonly string[]): Map<string, TopicPartition> {
  return new Map([...partitions].filter(([, { topic }]) => topics.includes(topic)))
}
