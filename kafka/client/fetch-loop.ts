import { type FetcherOptions, partitionKey } from '../transport.ts'
import type { Cluster, Leader } from './cluster.ts'
import { type Connections, openConnections } from './connections.ts'
import type { FetchPosition } from './fetch-positions.ts'
import { type FetchPartition, type FetchResponse, type FetchTopic, fetch } from './fetch-request.ts'
import { openFetchResponses } from './fetch-responses.ts'
import { openFetchRetry } from './fetch-retry.ts'
import { getOrAdd } from './get-or-add.ts'
import type { Context } from './options.ts'

/**
 * Maximum number of requests in flight per leader, each on a separate connection. With the second request, a partition
 * that is assigned or resumed does not have to wait until the first request returns data.
 */
const SLOTS_PER_LEADER = 2
/** A response of at least this size shows that there is more to read, so the next request follows at once. */
const FULL_RESPONSE_BYTES = 65_536
/**
 * Two idle requests are treated as ending at the same time if the ends of their waits are closer together than this.
 */
const TOGETHER_MS = 20

/** A fetch request in flight. */
interface UnderWay {
  readonly states: readonly FetchPosition[]
  /**
   * True when the previous answer for every partition of the request was empty. The broker may then wait long before it
   * answers.
   */
  readonly idle: boolean
  /** Reading of `Runtime.monotonic` at which the broker answers even without data. */
  readonly endsAt: number
  /** True when the answer to the request will be ignored. */
  abandoned: boolean
}

/**
 * Maximum number of full responses of a partition that may wait for `poll`. Fetches omit the partition while this many
 * are waiting.
 */
const RESPONSES_AHEAD = 2

/** Callbacks with which the loop informs its fetcher. */
export interface FetchLoopHooks {
  /**
   * Called when a partition that is not paused has received data or an empty answer. If the next request is due and
   * allowed at that time, it has already been sent.
   */
  arrived(): void
  /**
   * Called with the error that `poll` must throw, and the positions that it concerns. If only some positions cannot be
   * fetched, they are marked as failed and no longer fetched.
   */
  failed(error: Error, states: readonly FetchPosition[]): void
}

/**
 * Keeps fetches in flight for all positions that need one, and stores the answers in the positions.
 * @param positions keyed by partition key; the fetcher adds and removes entries, and the loop drops answers for removed
 * positions
 */
export function openFetchLoop(
  context: Context,
  cluster: Cluster,
  options: Required<FetcherOptions>,
  positions: ReadonlyMap<string, FetchPosition>,
  hooks: FetchLoopHooks,
) {
  const { runtime } = context
  /** The connections of each slot, indexed by slot number. */
  const slots: Connections[] = Array.from({ length: SLOTS_PER_LEADER }, () => openConnections(context))
  /** The requests in flight, keyed by leader and then by slot number. */
  const underWay = new Map<number, (UnderWay | undefined)[]>()
  const closing = new AbortController()
  let scheduled = false
  let turn = 0
  const retry = openFetchRetry(context, cluster, positions, { schedule, failed: (error) => hooks.failed(error, [...positions.values()]) })
  const responses = openFetchResponses(context, cluster, positions, { retry, schedule, failed: hooks.failed, signal: closing.signal })

  /**
   * Returns the number of fetched bytes that wait for `poll`. The bytes of paused partitions are not included, because
   * each paused partition has a separate limit and must not starve the other partitions.
   */
  function bufferedBytes(): number {
    let total = 0
    for (const state of positions.values()) if (!state.paused) total += state.bufferedBytes
    return total
  }

  /** Returns true if the partition has been unassigned, or assigned again, since its data was requested. */
  function isGone(state: FetchPosition): boolean {
    return positions.get(partitionKey(state.topic, state.partition)) !== state
  }

  function isDue(state: FetchPosition, now: number): boolean {
    return (
      !state.paused &&
      !state.failed &&
      !state.inFlight &&
      state.retryAt <= now &&
      state.collectsUntil <= now &&
      state.bufferedBytes < options.maxPartitionBytes * RESPONSES_AHEAD
    )
  }

  /**
   * Sends a fetch to every leader that has a free slot and partitions that wait for a request. Call it after `poll` has
   * removed data.
   */
  function schedule(): void {
    if (closing.signal.aborted || bufferedBytes() >= options.maxBufferedBytes) return
    const now = runtime.monotonic()
    const due = new Map<number, { leader: Leader; states: FetchPosition[] }>()
    let leaderless = false
    let firstTry = true
    for (const state of positions.values()) {
      if (!isDue(state, now)) continue
      const leader = cluster.leader(state.topic, state.partition)
      if (leader === undefined) {
        retry.postpone(state)
        leaderless = true
        if (state.attempts > 1) firstTry = false
        continue
      }
      if (!responses.isSameTopic(state)) continue
      getOrAdd(due, leader.nodeId, () => ({ leader, states: [] as FetchPosition[] })).states.push(state)
    }
    for (const { leader, states } of due.values()) {
      const requests = getOrAdd(underWay, leader.nodeId, () => new Array<UnderWay | undefined>(SLOTS_PER_LEADER).fill(undefined))
      const free = requests.indexOf(undefined)
      if (free >= 0) send(leader, free, requests, states)
      else cutWait(leader, requests)
    }
    // A partition without a known leader needs new metadata. If this is the first attempt for all such partitions, the
    // loop requests the metadata at once.
    if (leaderless) retry.refreshSoon(firstTry ? 0 : undefined)
  }

  /**
   * Frees a slot when all slots are in use and other partitions wait for a fetch. To do so, it abandons an idle fetch,
   * or a fetch of partitions that are no longer assigned. A broker answers the requests of a connection in order, so a
   * new request on the same connection would have to wait for the abandoned one. The connection is therefore closed as
   * well. The next fetch then covers the waiting partitions and those of the abandoned fetch that are still assigned.
   */
  function cutWait(leader: Leader, requests: (UnderWay | undefined)[]): void {
    const slot = requests.findIndex((request) => request !== undefined && (request.idle || request.states.every(isGone)))
    const request = requests[slot]
    if (request === undefined) return
    request.abandoned = true
    requests[slot] = undefined
    for (const state of request.states) state.inFlight = false
    slots[slot].drop(leader.broker)
    scheduleSoon()
  }

  function send(leader: Leader, slot: number, requests: (UnderWay | undefined)[], states: FetchPosition[]): void {
    const idle = states.every(({ quiet }) => quiet)
    const waitMs = idle ? idleWaitMs(requests) : options.maxWaitMs
    const request: UnderWay = { states, idle, endsAt: runtime.monotonic() + waitMs, abandoned: false }
    requests[slot] = request
    for (const state of states) state.inFlight = true
    // Brokers fill a response up to its size limit in the order in which the request lists the partitions, so a
    // different partition comes first each time.
    turn = (turn + 1) % states.length || 0
    const rotated = [...states.slice(turn), ...states.slice(0, turn)]
    const fetchedAt = runtime.now()
    function answered(response: FetchResponse): void {
      if (request.abandoned) return
      responses.take(leader, rotated, response, fetchedAt)
      collect(states, response)
      release()
    }
    function failed(error: unknown): void {
      if (request.abandoned) return
      if (!closing.signal.aborted) responses.lost(leader, rotated, error as Error)
      release()
    }
    /**
     * Frees the slot. The next request is sent before the fetcher is informed of the data, so that the broker works
     * while the data is processed.
     */
    function release(): void {
      requests[slot] = undefined
      for (const state of states) state.inFlight = false
      if (idle && states.every(({ quiet }) => quiet) && endsNow(requests)) runtime.setTimer(TOGETHER_MS, schedule)
      else schedule()
      if (responses.takeArrived()) hooks.arrived()
    }
    exchange(leader, slot, rotated, waitMs).then(answered, failed)
  }

  /**
   * Delays the next fetch of these partitions if the response had only a little data, so that the next response has
   * more.
   */
  function collect(states: readonly FetchPosition[], { partitions }: FetchResponse): void {
    if (options.collectMs === 0) return
    const bytes = partitions.reduce((sum, { records }) => sum + records.length, 0)
    if (bytes === 0 || bytes >= FULL_RESPONSE_BYTES) return
    const collectMs = typeof options.collectMs === 'function' ? options.collectMs() : options.collectMs
    if (collectMs <= 0) return
    const until = runtime.monotonic() + collectMs
    for (const state of states) state.collectsUntil = until
    runtime.setTimer(collectMs, () => {
      // A timer may fire slightly early, so this callback compares the times for equality instead of reading the clock.
      for (const state of states) if (state.collectsUntil === until) state.collectsUntil = 0
      schedule()
    })
  }

  /**
   * Returns how long the broker may delay its answer to the next idle request. If another idle request is in flight,
   * both waits end at the same time, so that one request can replace the two.
   */
  function idleWaitMs(requests: readonly (UnderWay | undefined)[]): number {
    const longest = Math.max(options.maxWaitMs, options.idleWaitMs())
    const left = (requests.find((other) => other?.idle)?.endsAt ?? 0) - runtime.monotonic()
    return left > 0 ? Math.min(longest, Math.ceil(left)) : longest
  }

  /**
   * Returns true when the response to another idle request is about to arrive. The waiting partitions can then share
   * the next request.
   */
  function endsNow(requests: readonly (UnderWay | undefined)[]): boolean {
    const now = runtime.monotonic()
    return requests.some((other) => other?.idle && Math.abs(other.endsAt - now) < TOGETHER_MS)
  }

  function exchange(leader: Leader, slot: number, states: readonly FetchPosition[], maxWaitMs: number): Promise<FetchResponse> {
    const request = {
      isolation: options.isolation,
      maxWaitMs,
      maxBytes: options.maxBytes,
      maxPartitionBytes: options.maxPartitionBytes,
      topics: requestTopics(cluster, states),
    }
    const connection = slots[slot].established(leader.broker)
    if (connection !== undefined) return fetch(connection, request)
    return slots[slot].get(leader.broker).then((opened) => fetch(opened, request))
  }

  /**
   * Sends the due fetches in a microtask, after the current synchronous code, so that partitions assigned in one loop
   * share one request.
   */
  function scheduleSoon(): void {
    if (scheduled) return
    scheduled = true
    queueMicrotask(() => {
      scheduled = false
      schedule()
    })
  }

  async function close(): Promise<void> {
    closing.abort()
    retry.close()
    await Promise.all(slots.map((slot) => slot.close()))
  }

  return { schedule, scheduleSoon, close }
}

function requestTopics(cluster: Cluster, states: readonly FetchPosition[]): FetchTopic[] {
  const topics = new Map<string, FetchPartition[]>()
  for (const state of states) {
    getOrAdd(topics, state.topicId as string, () => []).push({
      partition: state.partition,
      leaderEpoch: cluster.leader(state.topic, state.partition)?.epoch ?? -1,
      offset: state.fetchOffset,
      lastEpoch: state.leaderEpoch,
    })
  }
  return [...topics].map(([topicId, partitions]) => ({ topicId, partitions }))
}
