import { endsWithin } from '../../runtime/ends-within.ts'
import type { CancelTimer } from '../../runtime/runtime.ts'
import { type Publisher, type PublisherOptions, partitionKey, TransportError } from '../transport.ts'
import { bufferPool } from './appender.ts'
import { type Cluster, REFUSALS_OF_OUTDATED } from './cluster.ts'
import type { Broker } from './connections.ts'
import { Disconnected } from './errors.ts'
import { getOrAdd } from './get-or-add.ts'
import type { Context } from './options.ts'
import { NOT_REPLICATED, REQUEST_LIMIT_BYTES } from './produce-request.ts'
import type { Holdings } from './publish-batch.ts'
import { type LaneDeps, PublishLane } from './publish-lane.ts'
import { openPublishRequests } from './publish-requests.ts'
import { openIdentities } from './publisher-identity.ts'

const MAX_PENDING_BYTES = 32 * 1_048_576
/** How long `close` waits for the last records to be acknowledged. Two seconds are enough if Kafka is reachable. */
const CLOSE_TIMEOUT_MS = 2_000

/** See `Publisher`. */
export function openPublisher(context: Context, cluster: Cluster, given: PublisherOptions = {}): Publisher {
  const { runtime } = context
  const { log } = runtime
  const { spacingMs = 0, maxPendingBytes = MAX_PENDING_BYTES, requestTimeoutMs = context.options.requestTimeoutMs } = given
  const holdings: Holdings = { records: 0, bytes: 0 }
  const lanes = new Map<string, PublishLane>()
  /** Lanes that have records, in the order in which they send. A lane moves to the end when it has sent a batch. */
  const busy = new Set<PublishLane>()
  const closing = new AbortController()
  let isLocating = false
  let isScheduled = false
  let cancelTimer: CancelTimer | undefined
  let timerAt = Number.POSITIVE_INFINITY
  /** True from the first failed request until publishing works again. Only the first failure is logged. */
  let isInterrupted = false
  let isClosed = false
  let onDrained: (() => void) | undefined

  const requests = openPublishRequests(
    context,
    { spacingMs, requestTimeoutMs },
    {
      onSent(lane) {
        // Moves the lane to the end of the set, so that its partition comes last in the next request.
        busy.delete(lane)
        busy.add(lane)
      },
      onAnswered(lane, outcome) {
        if (outcome.kind === 'unknown') {
          if (outcome.leaderLost && (outcome.reason === NOT_REPLICATED || isOften(lane))) cluster.distrust()
          interrupted(lane, outcome.reason)
        } else if (outcome.kind === 'appended') resumed()
      },
      onUnreachable(unreached, { message }) {
        interrupted(unreached[0], message)
        for (const lane of unreached) {
          lane.leaderLost = true
          lane.postpone(message)
        }
        if (unreached.some(isOften)) cluster.distrust()
      },
      onChange: pump,
    },
  )
  const identities = openIdentities(context, cluster, { signal: closing.signal, onChange: schedule, onRefused: failAll })
  const deps: LaneDeps = {
    holdings,
    pool: bufferPool(),
    runtime,
    admit(bytes) {
      if (isClosed) throw new TransportError('CLOSED', 'the publisher was closed', { fatal: false })
      if (bytes > REQUEST_LIMIT_BYTES) throw tooLarge(bytes)
      if (holdings.bytes + bytes > maxPendingBytes) throw full(holdings, maxPendingBytes)
    },
    onWork(lane) {
      busy.add(lane)
      schedule()
    },
    onSequenceLost({ topic, partition }) {
      log.warn({ topic, partition }, 'kafka_producer_state_lost')
    },
  }

  /** Sends at the end of this turn of the event loop, so that all records of the turn share a request. */
  function schedule(): void {
    if (isScheduled) return
    isScheduled = true
    void runtime.nextTurn().then(pump)
  }

  function wakeAt(at: number, now: number): void {
    if (at >= timerAt || at === Number.POSITIVE_INFINITY) return
    cancelTimer?.()
    timerAt = at
    cancelTimer = runtime.setTimer(Math.max(0, Math.ceil(at - now)), () => {
      timerAt = Number.POSITIVE_INFINITY
      pump()
    })
  }

  /** Sends what may be sent now, and sets a timer for the remaining records. */
  function pump(): void {
    isScheduled = false
    const now = runtime.monotonic()
    for (const lane of busy) {
      lane.expire(now)
      if (!lane.hasWork) busy.delete(lane)
    }
    if (busy.size === 0) {
      onDrained?.()
      return
    }
    if (closing.signal.aborted) return
    const waiting = new Map<string, { broker: Broker; sendable: PublishLane[] }>()
    const lost: PublishLane[] = []
    for (const lane of busy) {
      wakeAt(lane.earliestDeadline, now)
      if (now < lane.retryAt) wakeAt(lane.retryAt, now)
      if (!lane.isSendable(now)) continue
      if (lane.identity === undefined && !identities.give(lane)) continue
      const leader = cluster.leader(lane.topic, lane.partition)
      if (leader === undefined || lane.leaderLost) lost.push(lane)
      else addTo(waiting, leader.broker, lane)
    }
    for (const { broker, sendable } of waiting.values()) wakeAt(requests.send(broker, sendable, now), now)
    if (lost.length > 0) void locate(lost)
  }

  function interrupted({ topic, partition }: PublishLane, reason: string): void {
    if (isInterrupted || closing.signal.aborted) return
    isInterrupted = true
    log.warn({ topic, partition, reason, waiting: holdings.records }, 'kafka_publishing_interrupted')
  }

  function resumed(): void {
    if (!isInterrupted || [...busy].some(({ trouble }) => trouble !== undefined)) return
    isInterrupted = false
    log.info({ waiting: holdings.records }, 'kafka_publishing_resumed')
  }

  async function locate(lost: readonly PublishLane[]): Promise<void> {
    if (isLocating) return
    isLocating = true
    try {
      const byTopic = Map.groupBy(lost, ({ topic }) => topic)
      await Promise.all([...byTopic].map(([topic, lanes]) => locateIn(topic, lanes)))
    } finally {
      isLocating = false
      schedule()
    }
  }

  /**
   * Looks up the leaders of one topic. Concurrent lookups of several topics share a metadata request, but each topic
   * has a separate result.
   */
  async function locateIn(topic: string, lost: readonly PublishLane[]): Promise<void> {
    try {
      await cluster.refresh([topic])
      for (const lane of lost) {
        lane.leaderLost = false
        if (cluster.leader(topic, lane.partition) === undefined) lane.postpone('LEADER_NOT_AVAILABLE')
      }
    } catch (error) {
      if (!(error instanceof Disconnected) && error instanceof TransportError && error.fatal) for (const lane of lost) lane.fail(error)
      else {
        interrupted(lost[0], (error as Error).message)
        for (const lane of lost) lane.postpone((error as Error).message)
      }
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
    schedule()
    await endsWithin(runtime, timeoutMs, drained)
    closing.abort()
    cancelTimer?.()
    failAll(new TransportError('CLOSED', 'the publisher was closed before the record was acknowledged', { fatal: false }))
    await requests.close()
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

function isOften({ attempts }: PublishLane): boolean {
  return attempts >= REFUSALS_OF_OUTDATED
}

function addTo(waiting: Map<string, { broker: Broker; sendable: PublishLane[] }>, broker: Broker, lane: PublishLane): void {
  getOrAdd(waiting, `${broker.host}:${broker.port}`, () => ({ broker, sendable: [] as PublishLane[] })).sendable.push(lane)
}

function tooLarge(bytes: number): TransportError {
  return new TransportError(
    'MESSAGE_TOO_LARGE',
    `a record of ${bytes} bytes does not fit into a request of at most ${REQUEST_LIMIT_BYTES} bytes`,
    {
      fatal: true,
    },
  )
}

function full({ records, bytes }: Holdings, maxBytes: number): TransportError {
  const message = `${records} records (${bytes} bytes) are already waiting for Kafka, and at most ${maxBytes} bytes may wait`
  return new TransportError('BUFFER_FULL', message, { fatal: false })
}
