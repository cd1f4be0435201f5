import {
  type CommittedOffset,
  FencedError,
  type OffsetToCommit,
  partitionKey,
  type TopicPartition,
  TransportError,
  UNKNOWN_LEADER_EPOCH,
} from '../transport.ts'
import type { Coordinator } from './coordinator.ts'
import { classify, Disconnected, type ErrorName, errorName, fatal, MemberFenced, throwIfClosed } from './errors.ts'
import { offsetTopics } from './offset-topics.ts'
import type { Context } from './options.ts'
import { offsetCommitV9, offsetFetchV9 } from './protocol.ts'
import { backoff, markerBackoff } from './retry.ts'

/** The identity that means "no member" in a commit. Kafka accepts it while the group is empty. */
export const NO_MEMBER = { memberId: '', epoch: -1 } as const
/**
 * First wait between two attempts. A restarted worker cannot read its offsets until the open transaction that includes
 * them has ended. The wait is short so that the worker continues soon after that.
 */
const UNSTABLE_WAIT_MS = 10
const NO_OFFSET = -1n
/**
 * How often a request is retried although the broker refuses the member epoch and a heartbeat has not changed it.
 * After that, the transport concludes that another process has taken this member's place.
 */
const MAX_EPOCH_REPEATS = 20

/** The member on whose behalf offsets are read and written. */
export interface OffsetOwner {
  readonly groupId: string
  readonly memberId: string
  readonly epoch: number
  /**
   * Sends a heartbeat. Its answer contains the current member epoch.
   * @throws FencedError when the membership is lost, Disconnected when there is no answer
   */
  heartbeat(): Promise<void>
  readonly signal: AbortSignal
}

/**
 * Fetches the committed offsets of partitions; partitions without a committed offset are absent from the result. Waits
 * while a transaction that includes the offsets is open.
 */
export async function fetchCommitted(
  context: Context,
  coordinator: Coordinator,
  owner: OffsetOwner,
  partitions: readonly TopicPartition[],
): Promise<Map<string, CommittedOffset>> {
  const found = new Map<string, CommittedOffset>()
  if (partitions.length === 0) return found
  const topics = [...Map.groupBy(partitions, ({ topic }) => topic)].map(([name, entries]) => ({
    name,
    partitionIndexes: entries.map(({ partition }) => partition),
  }))
  const requireStable = true
  await repeat(context, coordinator, owner, `reading the offsets of group ${owner.groupId}`, async () => {
    const answer = await coordinator.send(
      offsetFetchV9.api,
      [{ groupId: owner.groupId, memberId: owner.memberId || null, memberEpoch: owner.epoch, topics }],
      requireStable,
    )
    const group = answer.groups[0]
    const names = [errorName(group.errorCode)]
    for (const topic of group.topics) {
      for (const { partitionIndex, committedOffset, committedLeaderEpoch, metadata, errorCode } of topic.partitions) {
        names.push(errorName(errorCode))
        if (errorCode === 0 && committedOffset !== NO_OFFSET)
          found.set(partitionKey(topic.name, partitionIndex), {
            offset: Number(committedOffset),
            metadata: metadata ?? '',
            leaderEpoch: committedLeaderEpoch === UNKNOWN_LEADER_EPOCH ? undefined : committedLeaderEpoch,
          })
      }
    }
    return names
  })
  return found
}

/** Commits offsets outside a transaction. */
export async function commitOffsets(
  context: Context,
  coordinator: Coordinator,
  owner: OffsetOwner,
  offsets: ReadonlyMap<string, OffsetToCommit>,
): Promise<void> {
  if (offsets.size === 0) return
  const topics = offsetTopics(offsets.values())
  await repeat(
    context,
    coordinator,
    owner,
    `committing offsets of group ${owner.groupId}`,
    async () => {
      const answer = await coordinator.send(offsetCommitV9.api, owner.groupId, owner.epoch, owner.memberId, null, topics)
      return answer.topics.flatMap((topic) => topic.partitions.map(({ errorCode }) => errorName(errorCode)))
    },
    context.runtime.monotonic() + context.options.deliveryTimeoutMs,
  )
}

/**
 * Retries a member's request until every part of the answer is a success.
 * @param doing describes the request in error messages
 * @param request sends the request once, and returns the error of every part of the answer
 * @throws an error when further attempts would not help, when the deadline has passed, or when the owner's signal fires
 */
export async function repeat(
  context: Context,
  coordinator: Coordinator,
  owner: OffsetOwner,
  doing: string,
  request: () => Promise<ErrorName[]>,
  deadline = Number.POSITIVE_INFINITY,
): Promise<void> {
  const retry = backoff(context, UNSTABLE_WAIT_MS)
  const untilMarkers = markerBackoff(context)
  /** Number of refusals of the current epoch. */
  let epochRepeats = 0
  for (;;) {
    throwIfClosed(owner.signal)
    const memberEpoch = owner.epoch
    let names: ErrorName[]
    try {
      names = await request()
    } catch (error) {
      if (!(error instanceof Disconnected)) throw error
      names = ['NETWORK_EXCEPTION']
    }
    const bad = names.find((name) => name !== 'NONE')
    if (bad === undefined) return
    // A fatal error in one part outweighs retriable errors in other parts.
    const classes = new Map(names.map((name) => [classify(name), name]))
    const lost = classes.get('producer-lost')
    if (lost !== undefined) throw new FencedError(`${doing}: the broker answered ${lost}`)
    const expelled = classes.get('member-lost')
    if (expelled !== undefined) throw new MemberFenced(`${doing}: the broker answered ${expelled}`)
    const hopeless = classes.get('fatal')
    if (hopeless !== undefined) throw fatal(hopeless, doing)
    if (context.runtime.monotonic() > deadline) throw new TransportError(bad, `${doing}: still ${bad} at the deadline`, { fatal: false })
    if (classes.has('stale-coordinator')) coordinator.forget()
    const old = classes.get('member-epoch-old')
    if (old !== undefined) {
      await owner.heartbeat().catch((error) => {
        if (!(error instanceof Disconnected)) throw error
      })
      if (owner.epoch !== memberEpoch) {
        epochRepeats = 0
        continue
      }
      if (++epochRepeats > MAX_EPOCH_REPEATS)
        throw new MemberFenced(`${doing}: the broker answers ${old} to the current member epoch ${memberEpoch}`)
    }
    await (bad === 'CONCURRENT_TRANSACTIONS' ? untilMarkers : retry).wait(owner.signal)
  }
}
