import { type Publisher, type PublisherOptions, partitionKey, TransportError } from '../transport.ts'
import { anonymousProducerId } from './anonymous-id.ts'
import { bufferPool } from './appender.ts'
import type { Cluster, Leader } from './cluster.ts'
import { type Broker, openConnections } from './connections.ts'
import { classify, Disconnected, errorName } from './errors.ts'
import { getOrAdd } from './get-or-add.ts'
import type { Context } from './options.ts'
import { type ProducedPartition, produce, REQUEST_LIMIT_BYTES, refusedBatch } from './produce-request.ts'
import type { Holdings } from './publish-batch.ts'
import { type LaneDeps, type Outcome, PublishLane, type StampedBatch } from './publish-lane.ts'
import { pause } from './retry.ts'
import type { ProducerId } from './transaction.ts'

/** Per broker. More would not help: a broker takes the requests of a connection one after the other, and remembers five batches. */
const MAX_REQUESTS_IN_FLIGHT = 5
/** How long the broker waits for its replicas before it answers REQUEST_TIMED_OUT, and the batch is sent again. */
const REPLICATION_TIMEOUT_MS = 10_000
const MAX_PENDING_BYTES = 32 * 1_048_576
/** What a Kafka in reach needs for the last records of a process. */
const CLOSE_TIMEOUT_MS = 2_000
/** Between two tries to get a producer id. */
const IDENTITY_RETRY_MS = 250

/** Requests to one broker. */
interface Flow {
  readonly broker: Broker
  requests: number
  /** Monotonic ms of the last request. */
  sentAt: number
  isConnecting: boolean
}

interface Entry {
  readonly lane: PublishLane
  readonly stamped: StampedBatch
}

/** See `Publisher`. */
export function openPublisher(context: Context, cluster: Cluster, given: PublisherOptions = {}): Publisher {
  const { elapsed, log, random } = context
  const { spacingMs = 0, maxPendingBytes = MAX_PENDING_BYTES, requestTimeoutMs = context.options.requestTimeoutMs } = given
  const connections = openConnections({ options: { ...context.options, requestTimeoutMs } })
  const replicationTimeoutMs = Math.min(REPLICATION_TIMEOUT_MS, requestTimeoutMs)
  const holdings: Holdings = { records: 0, bytes: 0 }
  const lanes = new Map<string, PublishLane>()
  /** Lanes with records, those that were sent least recently first. */
  const busy = new Set<PublishLane>()
  const flows = new Map<string, Flow>()
  const closing = new AbortController()
  let identity: ProducerId | undefined
  /** Lanes that were given the current producer id: one of them that has none any more has used up its epochs and needs another. */
  let usedBy = new Set<PublishLane>()
  let isIdentifying = false
  let isLocating = false
  let isScheduled = false
  let timer: NodeJS.Timeout | undefined
  let timerAt = Number.POSITIVE_INFINITY
  /** Some partition is in trouble, and the log says so. */
  let isInterrupted = false
  let isClosed = false
  let onDrained: (() => void) | undefined

  const deps: LaneDeps = {
    holdings,
    pool: bufferPool(),
    elapsed,
    random,
    admit(bytes) {
      if (isClosed) throw new TransportError('CLOSED', 'the publisher was closed', { fatal: false })
      if (bytes > REQUEST_LIMIT_BYTES)
        throw new TransportError(
          'MESSAGE_TOO_LARGE',
          `a record of ${bytes} bytes is larger than a request may be (${REQUEST_LIMIT_BYTES})`,
          {
            fatal: true,
          },
        )
      if (holdings.bytes + bytes > maxPendingBytes)
        throw new TransportError('BUFFER_FULL', `${holdings.records} records (${holdings.bytes} bytes) wait for Kafka already`, {
          fatal: false,
        })
    },
    onWork(lane) {
      busy.add(lane)
      schedule()
    },
    onSequenceLost({ topic, partition }) {
      log.warn({ topic, partition }, 'kafka_producer_state_lost')
    },
  }

  /** At the end of this turn of the event loop: what else comes in it shares the request. */
  function schedule(): void {
    if (isScheduled) return
    isScheduled = true
    setImmediate(pump)
  }

  function wakeAt(at: number, now: number): void {
    if (at >= timerAt || at === Number.POSITIVE_INFINITY) return
    clearTimeout(timer)
    timerAt = at
    timer = setTimeout(
      () => {
        timerAt = Number.POSITIVE_INFINITY
        pump()
      },
      Math.max(0, Math.ceil(at - now)),
    )
  }

  /** Sends whatever may be sent now, and sets the timer for the rest. */
  function pump(): void {
    isScheduled = false
    const now = elapsed()
    for (const lane of busy) {
      lane.expire(now)
      if (!lane.hasWork) busy.delete(lane)
    }
    if (busy.size === 0) {
      onDrained?.()
      return
    }
    if (closing.signal.aborted) return
    const waiting = new Map<Flow, PublishLane[]>()
    const lost: PublishLane[] = []
    for (const lane of busy) {
      wakeAt(lane.earliestDeadline, now)
      if (now < lane.retryAt) wakeAt(lane.retryAt, now)
      if (!lane.isSendable(now)) continue
      if (lane.identity === undefined && !identify(lane)) continue
      const leader = cluster.leader(lane.topic, lane.partition)
      if (leader === undefined || lane.leaderLost) lost.push(lane)
      else getOrAdd(waiting, flowTo(leader), () => [] as PublishLane[]).push(lane)
    }
    for (const [flow, sendable] of waiting) sendTo(flow, sendable, now)
    if (lost.length > 0) void locate(lost)
  }

  function flowTo({ broker }: Leader): Flow {
    const none = Number.NEGATIVE_INFINITY
    return getOrAdd(flows, `${broker.host}:${broker.port}`, () => ({ broker, requests: 0, sentAt: none, isConnecting: false }))
  }

  function sendTo(flow: Flow, sendable: readonly PublishLane[], now: number): void {
    if (flow.requests >= MAX_REQUESTS_IN_FLIGHT) return
    if (now < flow.sentAt + spacingMs) {
      wakeAt(flow.sentAt + spacingMs, now)
      return
    }
    const connection = connections.established(flow.broker)
    if (connection === undefined) {
      void connect(flow, sendable)
      return
    }
    while (flow.requests < MAX_REQUESTS_IN_FLIGHT) {
      const entries: Entry[] = []
      let bytes = 0
      for (const lane of sendable) {
        if (!lane.isSendable(now)) continue
        bytes += lane.nextBytes
        if (entries.length > 0 && bytes > REQUEST_LIMIT_BYTES) break
        entries.push({ lane, stamped: lane.take() })
        // Last in line for the next request.
        busy.delete(lane)
        busy.add(lane)
      }
      if (entries.length === 0) return
      flow.sentAt = now
      flow.requests++
      void exchange(flow, connection, entries)
    }
  }

  async function connect(flow: Flow, sendable: readonly PublishLane[]): Promise<void> {
    if (flow.isConnecting) return
    flow.isConnecting = true
    try {
      await connections.get(flow.broker)
    } catch (error) {
      interrupted(sendable[0], error as Error)
      for (const lane of sendable) {
        lane.leaderLost = true
        lane.postpone((error as Error).message)
      }
    } finally {
      flow.isConnecting = false
      schedule()
    }
  }

  async function exchange(flow: Flow, connection: Parameters<typeof produce>[0], entries: readonly Entry[]): Promise<void> {
    const answers = new Map<string, ProducedPartition>()
    try {
      const batches = entries.map(({ lane, stamped }) => ({ topic: lane.topic, partition: lane.partition, batch: stamped.bytes }))
      for (const answer of await produce(connection, null, replicationTimeoutMs, batches))
        answers.set(partitionKey(answer.topic, answer.partition), answer)
    } catch (error) {
      log.debug({ broker: flow.broker, reason: (error as Error).message }, 'kafka_publish_unanswered')
      // A connection that has lost one answer may be losing all of them.
      if (connections.established(flow.broker) === connection) connections.drop(flow.broker)
    }
    flow.requests--
    for (const { lane, stamped } of entries) {
      const outcome = outcomeOf(lane, answers.get(lane.key))
      lane.answered(stamped, outcome)
      if (outcome.kind === 'unknown') interrupted(lane, new Error(outcome.reason))
      else if (outcome.kind === 'appended') resumed()
    }
    pump()
  }

  function outcomeOf(lane: PublishLane, answer: ProducedPartition | undefined): Outcome {
    const reason = answer === undefined ? 'NETWORK_EXCEPTION' : errorName(answer.errorCode)
    // The second one says that an earlier try has brought the batch into the log.
    if (reason === 'NONE' || reason === 'DUPLICATE_SEQUENCE_NUMBER') return { kind: 'appended' }
    const kind = classify(reason)
    if (kind === 'producer-lost') return { kind: 'out-of-sequence' }
    if (kind === 'stale-leader' || kind === 'stale-coordinator' || kind === 'passing')
      return { kind: 'unknown', reason, leaderLost: kind === 'stale-leader' || reason === 'NETWORK_EXCEPTION' }
    return { kind: 'refused', error: refusedBatch(reason, `publish to ${lane.key}`, answer) }
  }

  function interrupted({ topic, partition }: PublishLane, { message }: Error): void {
    if (isInterrupted || closing.signal.aborted) return
    isInterrupted = true
    log.warn({ topic, partition, reason: message, waiting: holdings.records }, 'kafka_publishing_interrupted')
  }

  function resumed(): void {
    if (!isInterrupted || [...busy].some(({ trouble }) => trouble !== undefined)) return
    isInterrupted = false
    log.info({ waiting: holdings.records }, 'kafka_publishing_resumed')
  }

  /** @returns false: there is no producer id yet; it is being asked for */
  function identify(lane: PublishLane): boolean {
    if (identity !== undefined && !usedBy.has(lane)) {
      lane.identity = identity
      usedBy.add(lane)
      return true
    }
    if (!isIdentifying) void takeIdentity()
    return false
  }

  async function takeIdentity(): Promise<void> {
    isIdentifying = true
    try {
      identity = await anonymousProducerId(context, cluster, closing.signal)
      usedBy = new Set()
      log.debug({ ...identity }, 'kafka_publisher_initialized')
    } catch (error) {
      if (error instanceof TransportError && error.fatal) failAll(error)
      else await pause(IDENTITY_RETRY_MS, closing.signal)
    } finally {
      isIdentifying = false
      schedule()
    }
  }

  async function locate(lost: readonly PublishLane[]): Promise<void> {
    if (isLocating) return
    isLocating = true
    try {
      await cluster.refresh([...new Set(lost.map(({ topic }) => topic))])
      for (const lane of lost) {
        lane.leaderLost = false
        if (cluster.leader(lane.topic, lane.partition) === undefined) lane.postpone('LEADER_NOT_AVAILABLE')
      }
    } catch (error) {
      if (!(error instanceof Disconnected) && error instanceof TransportError && error.fatal) for (const lane of lost) lane.fail(error)
      else {
        interrupted(lost[0], error as Error)
        for (const lane of lost) lane.postpone((error as Error).message)
      }
    } finally {
      isLocating = false
      schedule()
    }
  }

  function failAll(error: TransportError): void {
    for (const lane of [...busy]) lane.fail(error)
  }

  async function close(timeoutMs = CLOSE_TIMEOUT_MS): Promise<void> {
    isClosed = true
    const drained = new Promise<void>((resolve) => {
      onDrained = resolve
    })
    const waited = new AbortController()
    schedule()
    await Promise.race([drained, pause(timeoutMs, waited.signal)])
    waited.abort()
    closing.abort()
    clearTimeout(timer)
    failAll(
      new TransportError('CLOSED', 'the publisher was closed before the record was acknowledged; it may have been written', {
        fatal: false,
      }),
    )
    await connections.close()
  }

  return {
    appender: (topic, partition) => getOrAdd(lanes, partitionKey(topic, partition), () => new PublishLane(topic, partition, deps)),
    get pendingRecords() {
      return holdings.records
    },
    get pendingBytes() {
      return holdings.bytes
    },
    close,
  }
}
