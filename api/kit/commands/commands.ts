import { randomUUID } from 'node:crypto'
import { Histogram, type Registry } from 'prom-client'
import type { CommandFlow } from '../../../schemas/commands/topics.ts'
import type { ViewReader } from '../../../state/views/view.ts'
import type { Caller } from '../auth/verify.ts'
import { ApiError, errors } from '../errors.ts'
import type { Facts } from '../facts.ts'
import type { ReadinessProbe } from '../readiness.ts'
import { answering, type Bindings, commandIdOf, hashOf, idempotencyConflict, isUnavailable } from './idempotency.ts'
import type { ResultChannel } from './result-channel.ts'
import { type Result, type ResultPlace, waitingRoom } from './waiting.ts'

/**
 * The sender of a command, and the keys that identify the command. The input of a handler has all of these fields
 * except `keyScope`.
 */
export interface CommandRequest {
  readonly caller: Caller | undefined
  readonly address: string
  readonly idempotencyKey: string | undefined
  /** The scope of an anonymous caller's keys. If undefined, the caller's address is the scope. */
  readonly keyScope?: string
  /** The key that a 503 offers to a caller that sent no Idempotency-Key. If undefined, `open` creates a key. */
  readonly offeredKey?: string | undefined
  readonly requestId: string
}

/** Sends commands to the topologies that decide them, and waits for the decisions. */
export interface Commands {
  /**
   * Opens a command. Gives it an id and, if the caller sent an Idempotency-Key, binds the key to this request for 24
   * hours.
   * @param request the operation and all of its input. Together, they identify the request.
   * @throws ApiError: `idempotency_conflict` if the key belongs to another request, `unavailable` if the key cannot be
   * bound
   */
  open(from: CommandRequest, request: readonly unknown[]): Promise<OpenCommand>
  /**
   * Returns whether the caller's Idempotency-Key is bound to this request, because an earlier request used it. Does not
   * bind the key. Redis may have lost the binding.
   * @throws ApiError: `unavailable`.
   */
  isRepeated(from: CommandRequest, request: readonly unknown[]): Promise<boolean>
  readonly probe: ReadinessProbe
  close(): void
}

export interface OpenCommand {
  /**
   * The command's id. Every repetition has the same id. The names of new entities are derived from this id, so a
   * repetition requests the same names.
   */
  readonly id: string
  /**
   * Sends the command and waits for its answer. By the time the answer arrives, the decision is committed, and every
   * API instance can read its changes. A repeated command gets the first answer. Throws ApiError `unavailable` with
   * `command_id` if the command cannot be sent or no answer arrives in time. The command may still be executed later.
   * Repeating the command with the same id returns its answer. Also throws ApiError `not_ready` if the partition counts
   * or the schemas are not known yet, `idempotency_conflict` if the id belongs to a different request, and
   * `internal_error` if Kafka rejects the command permanently.
   * @param key the record key, which determines the partition that decides the command
   * @param body the command's body, or a function that reads what the body needs. The function is not called if the
   * answer to an earlier attempt can be read, so that a repetition gets this answer even if the function would fail
   * now. Errors of the function are passed on.
   * @param step name of the step if the request takes several steps. Each step is a command of its own.
   */
  run<C extends object, V, A>(flow: CommandFlow<C, V, A>, key: string, body: C | (() => Promise<C>), step?: string): Promise<A>
  /**
   * Keeps a value per Idempotency-Key: a repeated request gets the value that the first request computed, even if
   * `compute` would fail now. If `compute` failed in the first request, or if the caller sent no key, each request gets
   * the value that it computes itself. Throws what `compute` throws, and ApiError `unavailable`.
   * @param name distinguishes the values of a command
   * @param compute returns a value that JSON can represent
   */
  once<T>(name: string, compute: () => T): Promise<T>
}

export interface CommandsDeps {
  readonly facts: Facts
  readonly reader: ViewReader
  readonly bindings: Bindings
  readonly channel: ResultChannel
  /** Epoch ms. */
  readonly now: () => number
  readonly monotonic?: () => number
  readonly newKey?: () => string
  /** Resolves when the work on a new command may start; see `sharedStart`. Default: at once. */
  readonly started?: () => Promise<void>
  readonly timeoutMs?: number
  /** The registry that the latency histograms are added to. If undefined, they are not registered. */
  readonly registry?: Registry
}

/** Default time limit for all steps of a command together. It is shorter than the default time limit of handlers. */
const ANSWER_TIMEOUT_MS = 5_000
/**
 * Time within which a command must be decided. A command that has waited in the log for longer is dropped. The time
 * must exceed the difference between the clocks of two machines.
 */
const COMMAND_LIFE_MS = 30_000
/** Maximum number of waiting commands. Each waiting command costs a timer and two reads from Redis per second. */
const MAX_WAITING = 20_000
const RETRY_AFTER_SECONDS = 1
const LATENCY_BUCKETS_SECONDS = [0.002, 0.005, 0.01, 0.02, 0.035, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5]
const MS_PER_SECOND = 1_000
const MAY_BE_EXECUTED = 'The request may still be executed.'
/** Stored in place of a value whose computation has failed. Real values are JSON, so none of them equals this text. */
const NO_VALUE = ''

export function createCommands(deps: CommandsDeps): Commands {
  const { facts, bindings, channel, now, newKey = randomUUID, monotonic = () => performance.now() } = deps
  const timeoutMs = deps.timeoutMs ?? ANSWER_TIMEOUT_MS
  const registers = deps.registry === undefined ? [] : [deps.registry]
  const seconds = (name: string, help: string) => new Histogram({ name, help, buckets: LATENCY_BUCKETS_SECONDS, registers })
  const acknowledged = seconds('command_acknowledged_seconds', 'Time from sending a command until every in-sync replica has it')
  const answered = seconds('command_answered_seconds', 'Time from sending a command until its result arrives')
  const room = waitingRoom({ channel, reader: deps.reader, monotonic })

  async function isRepeated(from: CommandRequest, request: readonly unknown[]): Promise<boolean> {
    const { idempotencyKey: key } = from
    if (key === undefined) return false
    const id = commandIdOf(from.caller, from.keyScope ?? from.address, key)
    return (await answering(key, () => bindings.boundTo(id))) === hashOf(request)
  }

  async function open(from: CommandRequest, request: readonly unknown[]): Promise<OpenCommand> {
    if (deps.started !== undefined) await deps.started()
    const shownId = from.idempotencyKey ?? from.offeredKey ?? newKey()
    const id = commandIdOf(from.caller, from.keyScope ?? from.address, shownId)
    const requestHash = hashOf(request)
    const until = monotonic() + timeoutMs
    // A key that the caller did not send need not be bound yet. The caller learns such a key only from a 503, and `run`
    // tries to bind the key before it throws this error.
    const before = from.idempotencyKey === undefined ? undefined : await answering(shownId, () => bindings.bind(id, requestHash))
    if (before !== undefined && before !== requestHash) throw idempotencyConflict()

    async function run<C extends object, V, A>(
      flow: CommandFlow<C, V, A>,
      about: string,
      body: C | (() => Promise<C>),
      step?: string,
    ): Promise<A> {
      const commandId = step === undefined ? id : `${id}:${step}`
      const send = () => ask(flow, about, body, { commandId, requestHash, until, isRepeated: before !== undefined })
      const result = await answering(shownId, send).catch(async (error: unknown) => {
        if (from.idempotencyKey === undefined && isUnavailable(error)) await bindings.bind(id, requestHash).catch(() => undefined)
        throw error
      })
      if (result.outcome === 'conflict' || (result.requestHash ?? requestHash) !== requestHash) {
        // Redis had lost the key's binding, so this request, or an earlier attempt that got no answer, could bind the
        // key. Without the release, repetitions of the first request would get a conflict as well.
        if (from.idempotencyKey !== undefined) await bindings.release(id).catch(() => undefined)
        throw idempotencyConflict()
      }
      return JSON.parse(result.answer) as A
    }

    async function once<T>(name: string, compute: () => T): Promise<T> {
      if (from.idempotencyKey === undefined) return compute()
      const computed = attempt(compute)
      const text = 'value' in computed ? JSON.stringify(computed.value) : NO_VALUE
      const before = await answering(shownId, () => bindings.bind(`${id}:${name}`, text))
      if (before !== undefined && before !== NO_VALUE) return JSON.parse(before) as T
      if ('value' in computed) return computed.value
      throw computed.error
    }

    return { id, run, once }
  }

  interface Asked {
    readonly commandId: string
    readonly requestHash: string
    /** Monotonic ms. */
    readonly until: number
    readonly isRepeated: boolean
  }

  async function ask<C extends object, V, A>(
    flow: CommandFlow<C, V, A>,
    key: string,
    given: C | (() => Promise<C>),
    asked: Asked,
  ): Promise<Result> {
    const { commandId, requestHash, until, isRepeated } = asked
    const place: ResultPlace = { commandId, view: flow.name, partition: partitionOf(flow, key) }
    const known = isRepeated ? await room.look(place) : undefined
    if (known !== undefined) return known
    const body = typeof given === 'function' ? await given() : given
    if (!channel.isOpen) throw unanswered('Results cannot be received at the moment.')
    if (room.size >= MAX_WAITING) throw unanswered('Too many commands are already waiting.')
    const wait = room.wait(place, Math.max(0, until - monotonic()))
    try {
      const command = { command_id: commandId, reply_to: channel.name, request_hash: requestHash, deadline: now() + COMMAND_LIFE_MS, body }
      // The result may arrive before Kafka acknowledges the command, so the acknowledgement is not awaited first. If
      // Kafka does not accept the command, the wait ends with that error.
      const sentAt = monotonic()
      const sent = facts.publish(flow.commands, key, command).then(
        () => acknowledged.observe((monotonic() - sentAt) / MS_PER_SECOND),
        (error: unknown) => {
          throw error instanceof ApiError && error.definition === errors.unavailable ? unacknowledged(error) : error
        },
      )
      const result = await Promise.race([wait.result, sent.then(() => wait.result)])
      if (result === undefined) throw unanswered(`No answer arrived in time. ${MAY_BE_EXECUTED}`)
      answered.observe((monotonic() - sentAt) / MS_PER_SECOND)
      return result
    } finally {
      wait.leave()
    }
  }

  /**
   * Returns the partition of a command. Throws ApiError `not_ready` if the partition counts are not known yet, and
   * Error if the topics of commands and decisions have different numbers of partitions.
   */
  function partitionOf<C, V, A>(flow: CommandFlow<C, V, A>, key: string): number {
    const counts = [flow.commands, flow.decisions].map((topic) => facts.partitionsOf(topic))
    if (counts[0] !== counts[1])
      throw new Error(
        `${flow.commands.name} has ${counts[0]} partitions and ${flow.decisions.name} has ${counts[1]}; the numbers must be equal`,
      )
    return facts.partitionOf(flow.commands as { name: string; key: typeof flow.commands.key }, key)
  }

  return {
    open,
    isRepeated,
    probe: {
      name: 'results',
      optional: true,
      check: async () => (channel.isOpen ? undefined : 'the channel for results is not open'),
    },
    close: room.close,
  }
}

function attempt<T>(compute: () => T): { readonly value: T } | { readonly error: unknown } {
  try {
    return { value: compute() }
  } catch (error) {
    return { error }
  }
}

/**
 * Returns the error for a command that Kafka has not acknowledged in time. Kafka may still have written the command. If
 * the caller only read that Kafka does not respond, the caller could send the request without its id, and the request
 * could be executed twice.
 */
function unacknowledged(cause: ApiError): ApiError {
  return unanswered(`The event log does not respond. ${MAY_BE_EXECUTED}`, cause.cause)
}

function unanswered(message: string, cause?: unknown): ApiError {
  return new ApiError(errors.unavailable, {
    message: `${message} Try again with the command_id as Idempotency-Key.`,
    retryAfter: RETRY_AFTER_SECONDS,
    cause,
  })
}
