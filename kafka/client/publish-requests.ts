import { type Broker, openConnections } from './connections.ts'
import { getOrAdd } from './get-or-add.ts'
import type { Context } from './options.ts'
import { type Outcome, outcomeOf, type ProducedPartition, type ProduceTarget, produce, REQUEST_LIMIT_BYTES } from './produce-request.ts'
import type { PublishLane, StampedBatch } from './publish-lane.ts'

const NO_TRANSACTION: ProduceTarget = { transactionalId: null, addsPartitions: false }
/**
 * Maximum number of unanswered requests per broker. More requests would not help, because a broker handles the requests
 * of a connection in order and remembers only the last five batches of a producer.
 */
const MAX_REQUESTS_IN_FLIGHT = 5
/** How long the broker waits for its replicas before it answers REQUEST_TIMED_OUT and the batch is sent again. */
const REPLICATION_TIMEOUT_MS = 10_000
const NEVER = Number.POSITIVE_INFINITY

/** Sends the batches of one publisher in pipelined requests, on connections that no other client shares. */
export interface PublishRequests {
  /**
   * Sends batches of these partitions to their leader, in as many requests as are currently allowed.
   * @returns when to call again (monotonic ms); infinite when nothing is left to send or when `onChange` will be called
   */
  send(broker: Broker, lanes: readonly PublishLane[], now: number): number
  close(): Promise<void>
}

export interface PublishRequestHooks {
  onSent(lane: PublishLane): void
  /** Called after the lane has handled the outcome. */
  onAnswered(lane: PublishLane, outcome: Outcome): void
  onUnreachable(lanes: readonly PublishLane[], error: Error): void
  /** Called when another request may be sent, or when an attempt to connect has ended. */
  onChange(): void
}

export interface PublishRequestOptions {
  readonly spacingMs: number
  readonly requestTimeoutMs: number
}

/** The state of the requests to one broker. */
interface Flow {
  readonly broker: Broker
  requests: number
  /** Monotonic time (ms) at which the last request was sent. */
  sentAt: number
  isConnecting: boolean
}

interface Entry {
  readonly lane: PublishLane
  readonly stamped: StampedBatch
}

export function openPublishRequests(context: Context, options: PublishRequestOptions, hooks: PublishRequestHooks): PublishRequests {
  const { requestTimeoutMs, spacingMs } = options
  const connections = openConnections({ ...context, options: { ...context.options, requestTimeoutMs } })
  const replicationTimeoutMs = Math.min(REPLICATION_TIMEOUT_MS, requestTimeoutMs)
  const flows = new Map<string, Flow>()

  function flowTo(broker: Broker): Flow {
    const sentAt = Number.NEGATIVE_INFINITY
    return getOrAdd(flows, `${broker.host}:${broker.port}`, () => ({ broker, requests: 0, sentAt, isConnecting: false }))
  }

  function send(broker: Broker, lanes: readonly PublishLane[], now: number): number {
    const flow = flowTo(broker)
    if (flow.requests >= MAX_REQUESTS_IN_FLIGHT) return NEVER
    if (now < flow.sentAt + spacingMs) return flow.sentAt + spacingMs
    const connection = connections.established(broker)
    if (connection === undefined) {
      void connect(flow, lanes)
      return NEVER
    }
    while (flow.requests < MAX_REQUESTS_IN_FLIGHT) {
      const entries = nextEntries(lanes, now)
      if (entries.length === 0) break
      flow.sentAt = now
      flow.requests++
      void exchange(flow, connection, entries)
    }
    return NEVER
  }

  /** Takes one batch from each partition until the request is full. */
  function nextEntries(lanes: readonly PublishLane[], now: number): Entry[] {
    const entries: Entry[] = []
    let bytes = 0
    for (const lane of lanes) {
      if (!lane.isSendable(now)) continue
      bytes += lane.nextBytes
      if (entries.length > 0 && bytes > REQUEST_LIMIT_BYTES) break
      entries.push({ lane, stamped: lane.take() })
      hooks.onSent(lane)
    }
    return entries
  }

  async function connect(flow: Flow, lanes: readonly PublishLane[]): Promise<void> {
    if (flow.isConnecting) return
    flow.isConnecting = true
    try {
      await connections.get(flow.broker)
    } catch (error) {
      hooks.onUnreachable(lanes, error as Error)
    } finally {
      flow.isConnecting = false
      hooks.onChange()
    }
  }

  async function exchange(flow: Flow, connection: Parameters<typeof produce>[0], entries: readonly Entry[]): Promise<void> {
    let answers: ReadonlyMap<string, ProducedPartition> = new Map()
    try {
      const batches = entries.map(({ lane, stamped }) => ({ topic: lane.topic, partition: lane.partition, batch: stamped.bytes }))
      answers = await produce(connection, NO_TRANSACTION, replicationTimeoutMs, batches)
    } catch (error) {
      context.runtime.log.debug({ broker: flow.broker, reason: (error as Error).message }, 'kafka_publish_unanswered')
      // A connection that has lost one answer may lose all later answers as well, so it is closed.
      if (connections.established(flow.broker) === connection) connections.drop(flow.broker)
    }
    flow.requests--
    for (const { lane, stamped } of entries) {
      const outcome = outcomeOf(`publish to ${lane.key}`, answers.get(lane.key))
      lane.answered(stamped, outcome)
      hooks.onAnswered(lane, outcome)
    }
    hooks.onChange()
  }

  return { send, close: connections.close }
}
