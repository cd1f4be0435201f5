import { type Circuit, circuit } from './circuit.ts'
import { type Limit, windowIndexAt } from './formulas.ts'
import { append, argumentsOf, NUMBERS_PER_READING, newCall, readingsOf, type ScriptCall } from './script-call.ts'

/** Where a rule counts one caller. */
export interface Counter {
  readonly key: string
  /** The key's hash tag: counters with equal tags are decided in one step. */
  readonly tag: string
  readonly limit: Limit
}

/**
 * - `hard`: all units, or the whole request takes nothing
 * - `soft`: all units or none; a lack does not stop the request
 * - `up-to`: as many of the units as there are
 * - `give-back`: returns units that were taken in the window of that index (0 for buckets)
 */
export type Ask =
  | { readonly mode: 'hard' | 'soft'; readonly counter: Counter; readonly units: number }
  | {
      readonly mode: 'up-to'
      readonly counter: Counter
      readonly units: number
      /** Told when nobody will ever know how many units were taken: the connection is gone, and nothing goes back. */
      lost?(): void
    }
  | { readonly mode: 'give-back'; readonly counter: Counter; readonly units: number; readonly windowIndex: number }

/** What a counter answered. */
export interface Reading {
  readonly taken: number
  /** The shard's clock, µs since 1970. */
  readonly nowUs: number
  /** Before anything was taken: the window's current count, or the bucket's µ-tokens. */
  readonly held: number
  /** Before anything was taken: the count of the window before; 0 for a bucket. */
  readonly heldBefore: number
}

/** Why requests were let through undecided. */
export type FailureReason = 'timeout' | 'unreachable' | 'error_reply' | 'circuit_open'

export interface Undecided {
  readonly undecided: FailureReason
}

type Outcome = readonly Reading[] | Undecided

export interface CounterStore {
  /** One reading per ask, in order. All asks of a call that share a shard are one step. At once where nothing must be asked. Never rejects. */
  decide(asks: readonly Ask[]): Outcome | Promise<Outcome>
}

/** What the store needs of a Redis client. */
export interface ScriptRunner {
  /** Runs DECIDE_SCRIPT; rejects when Redis does not take it. */
  run(keys: readonly string[], args: readonly (string | number)[]): Promise<number[]>
  /** Counters whose tags have one group may be decided in one script. */
  groupOf(tag: string): string
  /** The server of a group: what fails together. */
  nodeOf(group: string): string
}

export interface CounterStoreOptions {
  readonly scripts: ScriptRunner
  /** Monotonic ms. */
  monotonic(): number
  readonly timeoutMs?: number
  /** Told about every failed batch, with its cause. */
  onFailure?(reason: FailureReason, cause: Error | undefined): void
}

/** Specification G: a store that has not answered by then is treated as down. */
export const TIMEOUT_MS = 5
/**
 * More than this waits for the next script, so that this process and Redis work at the same time, and answers do not come all at once. A
 * script holds Redis' one thread for 4 µs and 3.5 more per ask: 64 decide an eighth more at full load, with a third more P99.
 */
const MAX_ASKS_PER_SCRIPT = 16

/**
 * - `awaited`: its answer closes or opens the circuit
 * - `probe`: nobody waits, and its answer closes the circuit
 * - `aside`: nobody waits, and it says nothing about the circuit
 */
type BatchKind = 'awaited' | 'probe' | 'aside'

interface Request {
  readonly asks: readonly Ask[]
  readonly settle: (outcome: readonly Reading[] | Undecided) => void
}

/** Asks that go to one shard together. */
interface Batch {
  readonly node: string
  readonly kind: BatchKind
  readonly call: ScriptCall
  readonly requests: Request[]
}

/** Puts everything that is asked in one turn of the event loop into one script per shard, and waits for its answer only so long. */
export function counterStore(options: CounterStoreOptions): CounterStore {
  const { scripts, monotonic, timeoutMs = TIMEOUT_MS, onFailure } = options
  const circuits = new Map<string, Circuit>()
  // Replaced, never cleared: V8 links the table that a cleared Map had to its next one, and what was in it lives until a full collection.
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

  function decide(asks: readonly Ask[]) {
    const group = scripts.groupOf(asks[0].counter.tag)
    const isOneGroup = asks.every(({ counter }) => scripts.groupOf(counter.tag) === group)
    return isOneGroup ? decideTogether(group, asks) : decideApart(asks)
  }

  /** Everything lies on one shard: one atomic step. */
  function decideTogether(group: string, asks: readonly Ask[]): Promise<readonly Reading[] | Undecided> | Undecided {
    const node = scripts.nodeOf(group)
    // Nobody waits for what is given back. A store that stands still takes it later; one that is away has forgotten the counter, or will.
    if (asks.every(({ mode }) => mode === 'give-back')) return enter(`aside ${group}`, node, 'aside', asks)
    const admission = circuitOf(node).admit()
    if (admission === 'skip') return CIRCUIT_OPEN
    if (admission === 'send') return enter(group, node, 'awaited', asks)
    // Nobody waits for units that were to be spent later.
    void enter(
      `probe ${group}`,
      node,
      'probe',
      asks.map((ask) => (ask.mode === 'up-to' ? { ...ask, units: 0 } : ask)),
    )
    return CIRCUIT_OPEN
  }

  function enter(id: string, node: string, kind: BatchKind, asks: readonly Ask[]): Promise<readonly Reading[] | Undecided> {
    const batch = batchFor(id, node, kind)
    append(batch.call, asks)
    return new Promise((settle) => {
      batch.requests.push({ asks, settle })
    })
  }

  /** One step per group, all sent together. A refusal by one of them gives back what the others took. */
  async function decideApart(asks: readonly Ask[]): Promise<readonly Reading[] | Undecided> {
    const byGroup = Map.groupBy(asks, ({ counter }) => scripts.groupOf(counter.tag))
    const groups = [...byGroup.values()]
    const outcomes = await Promise.all([...byGroup].map(([group, members]) => decideTogether(group, members)))
    const readings = new Map<Ask, Reading>()
    let undecided: Undecided | undefined
    for (const [index, outcome] of outcomes.entries()) {
      if ('undecided' in outcome) undecided = outcome
      else for (const [position, ask] of groups[index].entries()) readings.set(ask, outcome[position])
    }
    const isRefused = [...readings].some(([ask, { taken }]) => ask.mode === 'hard' && taken < ask.units)
    if (isRefused) giveBack(readings)
    // What one shard refuses is refused, whether or not another one answers.
    if (undecided !== undefined && !isRefused) return undecided
    return asks.map((ask) => readings.get(ask) ?? UNREAD)
  }

  function giveBack(readings: ReadonlyMap<Ask, Reading>): void {
    for (const group of Map.groupBy(readings, ([ask]) => scripts.groupOf(ask.counter.tag)).values()) {
      if (group.some(([ask, { taken }]) => ask.mode === 'hard' && taken < ask.units)) continue
      const returned = group.filter(([, { taken }]) => taken > 0)
      if (returned.length > 0) decide(returned.map(([{ counter }, reading]) => giveBackOf(counter, reading)))
    }
  }

  /** Of an answer that nobody waits for any more: requests were let through and count, but units that were to be spent later are nobody's. */
  function giveBackUnclaimed(asks: readonly Ask[], readings: readonly Reading[]): void {
    for (const [index, { mode, counter }] of asks.entries()) {
      if (mode === 'up-to' && readings[index].taken > 0) decide([giveBackOf(counter, readings[index])])
    }
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

    /** The answer may lie in the socket, unread because this process was busy: it is read before immediates run. */
    function onDeadline(): void {
      setImmediate(() => fail('timeout', undefined))
    }

    function onAnswer(numbers: readonly number[]): void {
      const isLate = isSettled
      if (!isLate) {
        isSettled = true
        clearTimeout(timer)
        // An answer to what was sent before the circuit opened does not close it.
        if (kind === 'probe' || (kind === 'awaited' && !state.isOpen)) state.answered()
      }
      let at = 1
      for (const { asks, settle } of requests) {
        const readings = readingsOf(numbers, at, asks.length)
        at += asks.length * NUMBERS_PER_READING
        settle(readings)
        if (isLate) giveBackUnclaimed(asks, readings)
      }
    }

    function onError(error: Error): void {
      fail(isErrorReply(error) ? 'error_reply' : 'unreachable', error)
      if (isErrorReply(error)) return
      for (const { asks } of requests) for (const ask of asks) if (ask.mode === 'up-to' && ask.units > 0) ask.lost?.()
    }

    function fail(reason: FailureReason, cause: Error | undefined): void {
      if (isSettled) return
      isSettled = true
      clearTimeout(timer)
      if (kind !== 'aside') {
        state.failed()
        onFailure?.(reason, cause)
      }
      const outcome: Undecided = { undecided: reason }
      for (const { settle } of requests) settle(outcome)
    }
  }

  return { decide }
}

const CIRCUIT_OPEN: Undecided = { undecided: 'circuit_open' }

/** Stands for a counter whose shard did not answer, of a request that another shard refused. */
const UNREAD: Reading = { taken: 0, nowUs: 0, held: 0, heldBefore: 0 }

function giveBackOf(counter: Counter, { taken, nowUs }: Pick<Reading, 'taken' | 'nowUs'>): Ask {
  const windowIndex = windowIndexAt(nowUs, counter.limit.windowSeconds)
  return { mode: 'give-back', counter, units: taken, windowIndex }
}

function newBatch(node: string, kind: BatchKind): Batch {
  return { node, kind, call: newCall(), requests: [] }
}

function isErrorReply(error: Error): boolean {
  return error.name === 'ReplyError'
}
