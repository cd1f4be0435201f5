import { type Circuit, circuit } from '../../../state/redis/circuit.ts'
import { isAboutSlot } from '../../../state/redis/passing-errors.ts'
import type { Ask, FailureReason, Outcome, Reading, ScriptRunner, Undecided } from './counter.ts'
import { append, argumentsOf, NUMBERS_PER_READING, newCall, readingsOf, type ScriptCall } from './script-call.ts'

/**
 * The purpose of a batch.
 * - `awaited`: requests wait for the batch, and its failure may open the circuit
 * - `probe`: the answer to the batch closes the open circuit, and only requests that just read counters wait for it
 * - `background`: no request waits for the batch, and neither its answer nor its failure affects the circuit
 */
export type BatchKind = 'awaited' | 'probe' | 'background'

/** Combines the asks of one event loop turn into few scripts, each for one shard. */
export interface ScriptBatches {
  /**
   * Adds asks to the next script for the shard. Resolves with the answer, or as undecided if the script fails or is
   * late.
   */
  add(group: string, node: string, kind: BatchKind, asks: readonly Ask[]): Promise<Outcome>
  circuitOf(node: string): Circuit
}

export interface ScriptBatchesOptions {
  readonly scripts: Pick<ScriptRunner, 'run'>
  /** Monotonic ms. */
  monotonic(): number
  readonly timeoutMs: number
  /** Called for every failed batch except `background` batches. The cause of a timeout is undefined. */
  onFailure?(reason: FailureReason, cause: Error | undefined): void
  /**
   * Called with every answer. If `isLate`, the answer arrived after the time limit, and its requests have proceeded
   * without it.
   */
  onReadings(asks: readonly Ask[], readings: readonly Reading[], isLate: boolean): void
}

/**
 * Once a script has this many asks, further asks go into the next script, so that this process and Redis work in
 * parallel and answers are spread over time. A script occupies Redis' only thread for 4 µs plus 3.5 µs per ask. A
 * maximum of 64 would raise the throughput at full load by an eighth, and the P99 latency by a third.
 */
const MAX_ASKS_PER_SCRIPT = 16

interface Request {
  readonly asks: readonly Ask[]
  readonly settle: (outcome: Outcome) => void
}

/** Asks that are sent together to one shard. */
interface Batch {
  readonly node: string
  readonly kind: BatchKind
  readonly call: ScriptCall
  readonly requests: Request[]
}

export function scriptBatches({ scripts, monotonic, timeoutMs, onFailure, onReadings }: ScriptBatchesOptions): ScriptBatches {
  const circuits = new Map<string, Circuit>()
  // Each turn creates a new Map instead of clearing the previous one. V8 links the table of a cleared Map to its next
  // table, so the contents would stay in memory until a full collection.
  let open = new Map<string, Batch>()
  let isScheduled = false

  function circuitOf(node: string): Circuit {
    let found = circuits.get(node)
    if (found === undefined) {
      found = circuit(monotonic)
      circuits.set(node, found)
    }
    return found
  }

  function add(group: string, node: string, kind: BatchKind, asks: readonly Ask[]): Promise<Outcome> {
    const batch = batchFor(kind === 'awaited' ? group : `${kind} ${group}`, node, kind)
    append(batch.call, asks)
    return new Promise((settle) => {
      batch.requests.push({ asks, settle })
    })
  }

  function batchFor(id: string, node: string, kind: BatchKind): Batch {
    let batch = open.get(id)
    if (batch === undefined) {
      batch = newBatch(node, kind)
      open.set(id, batch)
    } else if (batch.call.keys.length >= MAX_ASKS_PER_SCRIPT) {
      send(batch)
      batch = newBatch(node, kind)
      open.set(id, batch)
    }
    if (!isScheduled) {
      isScheduled = true
      setImmediate(sendAll)
    }
    return batch
  }

  function sendAll(): void {
    isScheduled = false
    const batches = open
    open = new Map()
    for (const batch of batches.values()) send(batch)
  }

  function send({ node, kind, call, requests }: Batch): void {
    const state = circuitOf(node)
    let isSettled = false
    const timer = setTimeout(onDeadline, timeoutMs)
    scripts.run(call.keys, argumentsOf(call)).then(onAnswer, onError)

    /**
     * Waits for a `setImmediate` callback before a batch counts as late. If this process was busy, the answer may still
     * be unread in the socket, and Node reads sockets before it runs these callbacks.
     */
    function onDeadline(): void {
      setImmediate(() => fail('timeout', undefined))
    }

    function onAnswer(numbers: readonly number[]): void {
      const isLate = isSettled
      if (!isLate) {
        isSettled = true
        clearTimeout(timer)
        answered()
      }
      let at = 1
      for (const { asks, settle } of requests) {
        const readings = readingsOf(numbers, at, asks.length)
        at += asks.length * NUMBERS_PER_READING
        onReadings(asks, readings, isLate)
        settle(readings)
      }
    }

    function answered(): void {
      // An answer to a batch that was sent before the circuit opened does not close the circuit.
      if (kind === 'probe' || (kind === 'awaited' && !state.isOpen)) state.answered()
    }

    function onError(error: Error): void {
      fail(isErrorReply(error) ? 'error_reply' : 'unreachable', error)
      if (isErrorReply(error)) return
      for (const { asks } of requests) for (const ask of asks) if (ask.mode === 'up-to' && ask.units > 0) ask.onUnknownOutcome?.()
    }

    function fail(reason: FailureReason, cause: Error | undefined): void {
      if (isSettled) return
      isSettled = true
      clearTimeout(timer)
      if (kind !== 'background') {
        if (reason === 'timeout') state.late()
        else if (cause !== undefined && isAboutSlot(cause)) answered()
        else state.failed()
        onFailure?.(reason, cause)
      }
      const outcome: Undecided = { undecided: reason }
      for (const { settle } of requests) settle(outcome)
    }
  }

  return { add, circuitOf }
}

function newBatch(node: string, kind: BatchKind): Batch {
  return { node, kind, call: newCall(), requests: [] }
}

/**
 * Recognises error replies from Redis by the name of the error. Error classes cannot be compared, because the caller
 * may use a different copy of ioredis.
 */
function isErrorReply(error: Error): boolean {
  return error.name === 'ReplyError'
}
