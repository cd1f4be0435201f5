import { partitionKey, TransportError } from '../transport.ts'
import { type Cluster, type Leader, REFUSALS_OF_OUTDATED } from './cluster.ts'
import { classify, Disconnected, errorName, fatal } from './errors.ts'
import type { FetchPosition } from './fetch-positions.ts'
import type { EpochEnd, FetchedPartition, FetchResponse } from './fetch-request.ts'
import type { FetchRetry } from './fetch-retry.ts'
import { listOffsets } from './list-offsets.ts'
import type { Context } from './options.ts'

export interface FetchResponseHooks {
  readonly retry: FetchRetry
  /** Called when a position may be fetched again. */
  schedule(): void
  /** Called with the error that `poll` must throw, and the positions that it concerns. */
  failed(error: Error, states: readonly FetchPosition[]): void
  /** Fires when the fetcher is closed. */
  readonly signal: AbortSignal
}

/**
 * Applies responses to the fetched positions: data, a retry, a new offset, or a permanent failure.
 * @param positions the assigned positions; data for other partitions is dropped
 */
export function openFetchResponses(
  context: Context,
  cluster: Cluster,
  positions: ReadonlyMap<string, FetchPosition>,
  { retry, schedule, failed, signal }: FetchResponseHooks,
) {
  const { log } = context.runtime
  let arrived = false

  /** Returns true if a partition that is not paused has received data or an empty answer since the last call. */
  function takeArrived(): boolean {
    const before = arrived
    arrived = false
    return before
  }

  /**
   * Returns false if the topic was deleted and created again since its id was first looked up. Its offsets then refer
   * to other records, so this function also marks the position as failed.
   */
  function isSameTopic(state: FetchPosition): boolean {
    const id = cluster.topicId(state.topic)
    state.topicId ??= id
    if (state.topicId === id) return true
    fail(
      state,
      new TransportError(
        'TOPIC_RECREATED',
        `topic ${state.topic} was deleted and created again: offset ${state.fetchOffset} now refers to other records`,
        { fatal: true },
      ),
    )
    return false
  }

  /**
   * Passes the data of a response to the positions for which it was requested.
   * @param fetchedAt clock reading before the request was sent
   */
  function take(leader: Leader, states: readonly FetchPosition[], response: FetchResponse, fetchedAt: number): void {
    if (signal.aborted) return
    if (response.errorCode !== 0) {
      lost(leader, states, new Disconnected(`fetch failed: ${errorName(response.errorCode)}`))
      return
    }
    const asked = new Map(states.map((state) => [`${state.topicId}-${state.partition}`, state]))
    for (const fetched of response.partitions) {
      const state = asked.get(`${fetched.topicId}-${fetched.partition}`)
      if (state !== undefined && positions.get(partitionKey(state.topic, state.partition)) === state) receive(state, fetched, fetchedAt)
    }
  }

  /** Handles a request that got no response, or a response with an error for the whole request. */
  function lost(leader: Leader, states: readonly FetchPosition[], error: Error): void {
    if (error instanceof Disconnected) {
      log.debug({ err: error, node: leader.nodeId }, 'kafka_fetch_failed')
      for (const state of states) retry.postpone(state)
      if (states.some(({ attempts }) => attempts >= REFUSALS_OF_OUTDATED)) cluster.distrust()
      retry.refreshSoon()
      return
    }
    for (const state of states) state.failed = true
    failed(error, states)
  }

  function receive(state: FetchPosition, fetched: FetchedPartition, fetchedAt: number): void {
    const name = errorName(fetched.errorCode)
    if (name === 'NONE' && fetched.diverging !== undefined) {
      receiveDiverging(state, fetched.diverging)
      return
    }
    if (name === 'NONE') {
      try {
        state.receive(fetched, fetchedAt)
      } catch (error) {
        fail(state, error as Error)
      }
      if (!state.paused) arrived = true
      return
    }
    if (name === 'OFFSET_OUT_OF_RANGE') {
      resetOffset(state)
      return
    }
    if (classify(name) === 'fatal' && name !== 'UNKNOWN_SERVER_ERROR') {
      fail(state, fatal(name, `fetch of ${partitionKey(state.topic, state.partition)} at offset ${state.fetchOffset}`))
      return
    }
    log.debug({ topic: state.topic, partition: state.partition, reason: name }, 'kafka_fetch_retried')
    retry.postpone(state)
    if (classify(name) === 'stale-leader' && state.attempts >= REFUSALS_OF_OUTDATED) cluster.distrust()
    retry.refreshSoon()
  }

  /**
   * Handles a response that reports a difference between the log and the data that was read. An unclean leader election
   * can cause such a difference.
   */
  function receiveDiverging(state: FetchPosition, end: EpochEnd): void {
    const { topic, partition, position, reset } = state
    if (end.offset >= position) {
      // The log still contains everything that the reader has received. Only data that the reader does not have yet is
      // lost.
      state.truncateTo(end)
      return
    }
    const where = `${partitionKey(topic, partition)} has lost the records from offset ${end.offset} to ${position}`
    if (reset === 'fail') {
      fail(state, new TransportError('LOG_TRUNCATED', `${where}, and its reset policy is "fail"`, { fatal: true }))
      return
    }
    log.error({ topic, partition, from: end.offset, to: position, reset }, 'kafka_log_truncated')
    if (reset !== 'rebuild') state.truncateTo(end)
    else {
      state.dropQueue()
      reread(state)
    }
  }

  function resetOffset(state: FetchPosition): void {
    const where = `${partitionKey(state.topic, state.partition)} has no offset ${state.fetchOffset}`
    if (state.reset === 'fail') {
      fail(state, new TransportError('OFFSET_OUT_OF_RANGE', `${where}, and its reset policy is "fail"`, { fatal: true }))
      return
    }
    log.warn({ topic: state.topic, partition: state.partition, offset: state.fetchOffset, reset: state.reset }, 'kafka_offset_out_of_range')
    reread(state)
  }

  /** Continues at the offset that the reset policy determines. */
  function reread(state: FetchPosition): void {
    state.retryAt = Number.POSITIVE_INFINITY
    void findReset(state)
  }

  async function findReset(state: FetchPosition): Promise<void> {
    try {
      const { topic, partition } = state
      const found = await listOffsets(context, cluster, [{ topic, partition }], state.reset === 'latest' ? 'end' : 'earliest', signal)
      state.resetTo(found.get(partitionKey(topic, partition)) as number)
      state.retryAt = 0
      schedule()
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof TransportError && error.fatal) fail(state, error)
      else {
        retry.postpone(state)
        retry.wakeAt(state.retryAt)
      }
    }
  }

  function fail(state: FetchPosition, error: Error): void {
    state.failed = true
    failed(error, [state])
  }

  return { take, lost, takeArrived, isSameTopic }
}
