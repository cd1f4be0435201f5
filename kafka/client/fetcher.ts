import { ChunkReader } from '../record-batch/reader.ts'
import {
  type Fetcher,
  type FetcherOptions,
  type PartitionData,
  partitionKey,
  type ReaderReset,
  type RecordChunk,
  type TopicPartition,
  TransportError,
  UNKNOWN_LEADER_EPOCH,
} from '../transport.ts'
import type { Cluster } from './cluster.ts'
import { openFetchLoop } from './fetch-loop.ts'
import { FetchPosition, type Segment } from './fetch-positions.ts'
import type { Context } from './options.ts'

const MIB = 1_048_576
const DEFAULTS = {
  isolation: 'read_committed',
  unreadableBatches: 'fail',
  /** Kafka's default for fetch.max.wait.ms. */
  maxWaitMs: 500,
  collectMs: 0,
  maxBytes: 16 * MIB,
  maxPartitionBytes: MIB,
  maxBufferedBytes: 64 * MIB,
  /**
   * Default size of a poll: about 20,000 records of 200 bytes. They are enough for efficient multi-gets, and few enough
   * to be processed in far less than half a heartbeat interval.
   */
  maxPollBytes: 4 * MIB,
} as const satisfies Omit<Required<FetcherOptions>, 'idleWaitMs'>
/**
 * How long the broker may delay its answer to a fetch of idle partitions, unless the reader sets another limit. New
 * data ends the wait at once. With a short wait, an idle process would spend most of its CPU time on fetches.
 */
const IDLE_WAIT_MS = 5_000
/**
 * The longest wait that a reader may request. A proxy in front of the broker may treat a request that waits longer as
 * lost.
 */
const LONGEST_IDLE_WAIT_MS = 15_000

/** Reads partitions from their leaders; see `Fetcher`. */
export function openFetcher(context: Context, cluster: Cluster, given: FetcherOptions = {}): Fetcher {
  const { idleWaitMs = () => given.maxWaitMs ?? IDLE_WAIT_MS } = given
  // A request that is not answered within the request timeout is treated as lost, so the broker must answer earlier.
  const longestWaitMs = Math.min(LONGEST_IDLE_WAIT_MS, context.options.requestTimeoutMs / 2)
  const periodMs = Math.min(IDLE_WAIT_MS, longestWaitMs)
  /**
   * Returns how long the broker may delay its next answer. Long delays for the fetchers in a process end at the same
   * time, so that the process and the broker wake up once for all of them.
   */
  function alignedWaitMs(): number {
    const wantedMs = Math.min(longestWaitMs, idleWaitMs())
    const now = context.runtime.monotonic()
    const untilTogether = Math.floor((now + Math.max(periodMs, wantedMs)) / periodMs) * periodMs - now
    return wantedMs < periodMs ? Math.min(Math.ceil(untilTogether), wantedMs) : Math.ceil(untilTogether)
  }
  const options: Required<FetcherOptions> = { ...DEFAULTS, ...given, idleWaitMs: alignedWaitMs }
  const positions = new Map<string, FetchPosition>()
  /** Errors that `poll` has not thrown yet, and the positions that each of them concerns. */
  const failures: { readonly error: Error; readonly states: readonly FetchPosition[] }[] = []
  let wakeUp: (() => void) | undefined
  let woken = false

  const loop = openFetchLoop(context, cluster, options, positions, {
    arrived: wake,
    failed(error, states) {
      failures.push({ error, states })
      wake()
    },
  })

  function assign(target: TopicPartition, offset: number, reset: ReaderReset, leaderEpoch = UNKNOWN_LEADER_EPOCH): void {
    const key = partitionKey(target.topic, target.partition)
    const state = new FetchPosition(target, offset, reset, leaderEpoch)
    // A leader of an earlier epoch would answer that it does not have this offset, and reading would start over, so
    // the cluster must ignore leaders of earlier epochs.
    if (leaderEpoch !== UNKNOWN_LEADER_EPOCH) cluster.sawEpoch(target.topic, target.partition, leaderEpoch)
    state.paused = positions.get(key)?.paused ?? false
    positions.set(key, state)
    loop.scheduleSoon()
  }

  function unassign({ topic, partition }: TopicPartition): void {
    // Buffered data of this partition no longer counts towards the limit, so the other partitions may continue.
    if (positions.delete(partitionKey(topic, partition))) loop.scheduleSoon()
  }

  function pause({ topic, partition }: TopicPartition): void {
    const state = positions.get(partitionKey(topic, partition))
    if (state === undefined || state.paused) return
    state.paused = true
    loop.scheduleSoon()
  }

  function resume({ topic, partition }: TopicPartition): void {
    const state = positions.get(partitionKey(topic, partition))
    if (state === undefined || !state.paused) return
    state.paused = false
    if (state.queue.length > 0) wake()
    loop.scheduleSoon()
  }

  function position({ topic, partition }: TopicPartition): number | undefined {
    return positions.get(partitionKey(topic, partition))?.position
  }

  async function poll(timeoutMs: number, maxBytes = options.maxPollBytes): Promise<PartitionData[]> {
    throwFailure()
    const first = take(maxBytes)
    if (first.length > 0 || timeoutMs <= 0 || woken) {
      woken = false
      return first
    }
    await new Promise<void>((resolve) => {
      const cancelTimer = context.runtime.setTimer(timeoutMs, done)
      function done(): void {
        cancelTimer()
        wakeUp = undefined
        resolve()
      }
      wakeUp = done
    })
    woken = false
    throwFailure()
    return take(maxBytes)
  }

  /**
   * Throws the next error that still concerns an assigned partition. A caller that has given up the failed partitions,
   * or has assigned them again, must not fail once more for each earlier error.
   */
  function throwFailure(): void {
    for (let failure = failures.shift(); failure !== undefined; failure = failures.shift())
      if (failure.states.some((state) => positions.get(partitionKey(state.topic, state.partition)) === state)) throw failure.error
  }

  /** Decodes at most about `maxBytes` of records (uncompressed), starting with a different partition each time. */
  function take(maxBytes: number): PartitionData[] {
    const taken: PartitionData[] = []
    let budget = Math.min(maxBytes, options.maxPollBytes)
    for (const [key, state] of positions) {
      if (budget <= 0) break
      if (state.queue.length === 0 || state.paused || state.failed) continue
      const data = takePartition(state, budget)
      if (data === undefined) continue
      budget -= data.bytes
      taken.push(data.entry)
      if (data.bytes > 0) {
        // Moves the partition to the end of the map, so that it comes last in the next call.
        positions.delete(key)
        positions.set(key, state)
      }
    }
    if (taken.length > 0) loop.schedule()
    return taken
  }

  function takePartition(state: FetchPosition, budget: number): { entry: PartitionData; bytes: number } | undefined {
    const chunks: RecordChunk[] = []
    let last: Segment | undefined
    let bytes = 0
    const wasReset = state.queue[0]?.wasReset === true && state.reading === undefined
    while (state.queue.length > 0 && bytes < budget) {
      const segment = state.queue[0]
      if (segment.wasReset && last !== undefined) break
      try {
        bytes += decode(state, segment, budget - bytes, chunks)
      } catch (error) {
        state.failed = true
        failures.push({ error: partitionError(state, error as Error), states: [state] })
        break
      }
      last = segment
      if (state.reading !== undefined) {
        state.position = state.reading.nextOffset
        continue
      }
      state.position = segment.nextOffset
      state.queue.shift()
      state.bufferedBytes -= segment.records.length
    }
    if (last === undefined) return undefined
    const { highWatermark, lastStableOffset, fetchedAt, leaderEpoch } = last
    return {
      entry: {
        topic: state.topic,
        partition: state.partition,
        chunks,
        nextOffset: state.position,
        leaderEpoch,
        highWatermark,
        lastStableOffset,
        fetchedAt,
        wasReset,
      },
      bytes,
    }
  }

  /**
   * Decodes the next portion of a segment. `state.reading` is set while a part of the segment remains.
   * @returns the approximate size of the decoded records
   */
  function decode(state: FetchPosition, segment: Segment, maxBytes: number, into: RecordChunk[]): number {
    if (segment.records.length === 0) return 0
    state.reading ??= new ChunkReader({
      topic: state.topic,
      partition: state.partition,
      records: segment.records,
      from: segment.from,
      aborted: options.isolation === 'read_committed' ? segment.aborted : null,
      verifyChecksums: context.options.verifyChecksums,
      unreadableBatches: options.unreadableBatches,
    })
    const decoded = state.reading.next(maxBytes)
    if (state.reading.done) state.reading = undefined
    if (decoded === undefined) return 0
    into.push(decoded.chunk)
    return decoded.bytes
  }

  function wake(): void {
    woken = true
    wakeUp?.()
  }

  async function close(): Promise<void> {
    positions.clear()
    wake()
    await loop.close()
  }

  return { assign, unassign, pause, resume, position, poll, wake, close }
}

function partitionError(state: TopicPartition, error: Error): Error {
  const code = error instanceof TransportError ? error.code : 'CORRUPT_BATCH'
  return new TransportError(code, `${partitionKey(state.topic, state.partition)}: ${error.message}`, { fatal: true, cause: error })
}
