import type { Command, CommandFlow, Decision } from '../../../schemas/commands/topics.ts'
import { resultKey } from '../../../schemas/commands/topics.ts'
import type { CommandOutcome, DecidedCommand } from '../../../schemas/commands/types.ts'
import { utf8 } from '../../../schemas/keys.ts'
import { avro } from '../../../schemas/load.ts'
import type { AnyTopic } from '../../../schemas/topic.ts'
import { type KeyedStore, keyedStore } from '../../../state/stores/keyed-store.ts'
import type { EngineStore } from '../../../state/stores/store.ts'
import { sweep } from '../state/sweep.ts'
import type { Context, OnError, RecordContext, Stream, TopologyBuilder } from '../topology/api.ts'
import { drop } from '../topology/outcome.ts'
import type { TopologyOptions } from '../topology/topology-options.ts'
import { judgedTime, requireAppendTime } from './judged-time.ts'
import { applyChanges, type RowChanges, type RowPrefetch, type Rows, storedPrefetch, storedRows } from './rows.ts'

/** The result of a decide function. The function should be pure: the result should depend only on the arguments. */
export interface Decided<S, A> extends RowChanges {
  /** The answer to the command: any JSON value. A repeated command gets the first answer again. */
  readonly answer: A
  /** The new state. A decision without this field keeps the state; null deletes the state. */
  readonly state?: S | null
}

export interface CommandFacts {
  /** Key of the state that the command concerns. */
  readonly key: string
  /**
   * Time of the decision, epoch ms. With `judgedBy: 'append-time'`, it is the time at which the broker appended the
   * command, or the time of an earlier command if that is later (see `JudgedTime`).
   */
  readonly now: number
  readonly commandId: string
}

/** The facts of a command, the partition that decides it, and the rows that the decision may read. */
interface PlacedFacts extends CommandFacts {
  readonly partition: number
  /** Reads the rows of the stores that `rows` declares. */
  readonly rows: Rows
}

export type Decide<C, S, A> = (state: S | undefined, command: C, facts: PlacedFacts) => Decided<S, A>

/** The rows that decisions read and change in addition to the state of the command's key. */
export interface DecidedRows<C> {
  readonly stores: readonly EngineStore[]
  /**
   * Announces the rows that the command will read, so that the rows of a batch are read together. Other rows are read
   * one by one.
   */
  readonly reads?: (command: C, key: string, rows: RowPrefetch) => void
}

export interface DecidingOptions<C, S, V, A> {
  readonly flow: CommandFlow<C, V, A>
  /** The states, by key: a `keyedStore` or a `packedStore`. */
  readonly store: EngineStore & Pick<KeyedStore<string, S>, 'prefetch' | 'get' | 'put' | 'delete'>
  readonly decide: Decide<C, S, A>
  /** Stores in which a decision may read and change rows of any key, within the partition of the command. */
  readonly rows?: DecidedRows<C>
  /**
   * The time that decisions receive as `now`. Default `decision-time`, the worker's clock. `append-time` is the time at
   * which the broker appended the command, but never earlier than the time of an earlier command of the partition. Use
   * `append-time` if a command that was sent in time must take effect even when an outage delays the decision.
   */
  readonly judgedBy?: 'decision-time' | 'append-time'
  /** Returns the part of a state that clients can read; null if there is no such part. */
  readonly view: (state: S, key: string) => V | null
  /** Called after every change to a state, for example to emit records or set timers. Not called for other rows. */
  readonly changed?: (change: Change<S, C>, ctx: Context) => void
  /** The topics to which decisions and `changed` emit records. */
  readonly emits?: readonly AnyTopic[]
  /** The stores that `changed` and the stream's ticks use. Naming a store here declares it. */
  readonly stores?: readonly EngineStore[]
}

export interface Change<S, C = unknown> {
  readonly key: string
  /** The command that caused the change; undefined if a tick or a record of another topic caused it. */
  readonly command: C | undefined
  readonly before: S | undefined
  /** The new state; undefined when it was deleted. */
  readonly after: S | undefined
}

export interface Deciding<C, S> {
  /**
   * The stream of commands. Ticks can be declared on this stream. Ticks that call `change` or `apply` must declare the
   * `stores` and `emits` of this object.
   */
  readonly stream: Stream<string, Command<C>>
  /**
   * Changes a state without a command, for example in a tick or when a record of another topic arrives. Like a
   * decision, the change updates the view and calls `changed`.
   */
  change(key: string, state: S | null, ctx: Context): void
  /**
   * Applies changes without a command, for example when a timer is due or when a record of another topic arrives. Like
   * the changes of a decision, they should come from a pure function.
   */
  apply(key: string, changes: Omit<Decided<S, unknown>, 'answer'>, ctx: Context): void
  /** The stores and topics that `change` and `apply` use. */
  readonly stores: readonly EngineStore[]
  readonly emits: readonly AnyTopic[]
}

/**
 * A single command is committed at once. Commands that arrive within this time after a commit share the next commit.
 * Whatever its size, a commit costs the broker several requests and a marker per partition. With this interval, 500
 * commands a second cause at most 67 commits a second.
 */
const SHARED_COMMIT_MS = 15
export const DECIDING: TopologyOptions = { commitIntervalMs: SHARED_COMMIT_MS, commitWhenIdle: false, collectMs: 'until-commit' }

/**
 * Commit interval for records that are not commands. It is longer than the interval for commands, because no caller
 * waits for these records. A longer interval costs the broker less, and lets several records of a key share a commit.
 */
const BULK_COMMIT_MS = 100
/** Options for topologies that decide commands and also process many other records. */
export const DECIDING_BESIDE_BULK: TopologyOptions = { ...DECIDING, commitIntervalMs: BULK_COMMIT_MS, commitSoonMs: SHARED_COMMIT_MS }

/**
 * A command that fails must not stop the decisions about all other commands. Its sender gets a timeout and may repeat
 * the command after the cause is fixed.
 */
const BAD_COMMANDS: OnError = { process: 'dead-letter', produce: 'dead-letter' }

/**
 * How long a command is remembered. During this time, a repetition of the command gets the first answer. The API's
 * idempotency relies on this period.
 */
const REMEMBERED_MS = 24 * 3_600_000
/**
 * Number of keys that one tick checks. A key takes about two microseconds, and one tick a second checks 3.6 million
 * keys an hour.
 */
const SWEPT_PER_TICK = 1_000
const SWEEP_EVERY_MS = 1_000
/** Length of a period. One pass over all remembered commands begins in each period; see `Sweep`. */
const WALK_EVERY_MS = 3_600_000

/**
 * Makes the topology the only writer of a kind of entity. The topology decides all commands for a key in order, and
 * writes state, view and result in one transaction. A command whose deadline has passed is dropped unless it was
 * already decided, because its sender has received a timeout and may have repeated it.
 */
export function decideCommands<C, S, V, A>(t: TopologyBuilder, options: DecidingOptions<C, S, V, A>): Deciding<C, S> {
  const { flow, store, decide, view, changed, rows } = options
  const isJudgedByAppend = options.judgedBy === 'append-time'
  if (isJudgedByAppend) requireAppendTime(flow.name, flow.commands)
  const decided = keyedStore('decided', { key: utf8, value: avro('commands/DecidedCommand') })
  const judged = judgedTime(decided)
  const stores: readonly EngineStore[] = [...new Set([store, ...(rows?.stores ?? []), ...(options.stores ?? []), decided])]
  const emits: readonly AnyTopic[] = [flow.decisions, ...(options.emits ?? [])]
  let results = 0
  let forgetBefore = 0
  const forgetting = sweep(decided, {
    keysPerRun: SWEPT_PER_TICK,
    isExpired: (id, command) => command.decided_at < forgetBefore && !judged.isOwnKey(id),
  })

  function change(key: string, state: S | null, ctx: Context, command?: C): void {
    const before = store.get(key)
    if (state === null) store.delete(key)
    else store.put(key, state)
    const shown = state === null ? null : view(state, key)
    const value: Decision<V> | null = shown === null ? null : { view: shown, result: null }
    ctx.emit(flow.decisions, key, value, { partition: ctx.partition, timestamp: ctx.now })
    changed?.({ key, command, before, after: state ?? undefined }, ctx)
  }

  function apply(key: string, { state, ...changes }: Omit<Decided<S, unknown>, 'answer'>, ctx: Context, command?: C): void {
    if (state !== undefined) change(key, state, ctx, command)
    applyChanges(changes, ctx)
  }

  function reply(command: Command<C>, outcome: CommandOutcome, first: DecidedCommand, ctx: Context): void {
    ctx.commitSoon()
    const { command_id, reply_to } = command
    const answer = outcome === 'decided' ? first.answer : ''
    const result = { command_id, reply_to, outcome, answer, request_hash: first.request_hash, decided_at: first.decided_at }
    // The result goes to the partition of the state, regardless of the result's key.
    ctx.emit(flow.decisions, resultKey(results++), { view: null, result }, { partition: ctx.partition, timestamp: ctx.now })
  }

  function decideCommand(command: Command<C>, ctx: RecordContext<string>) {
    const { command_id, request_hash, deadline, body } = command
    // The judged time is updated even for commands that are dropped or repeated, so that it depends only on the log.
    // Commands that are skipped because they fail do not count, because skipped records have no effects.
    const now = isJudgedByAppend ? judged.of(ctx) : ctx.now
    const first = decided.get(command_id)
    if (first !== undefined && ctx.now - first.decided_at < REMEMBERED_MS) {
      const isSame = first.request_hash === request_hash
      ctx.count(isSame ? 'commands_repeated' : 'commands_in_conflict')
      return reply(command, isSame ? 'decided' : 'conflict', first, ctx)
    }
    if (ctx.now > deadline) return drop('command_deadline')
    const { answer, ...changes } = decide(store.get(ctx.key), body, {
      key: ctx.key,
      now,
      commandId: command_id,
      partition: ctx.partition,
      rows: storedRows,
    })
    apply(ctx.key, changes, ctx, body)
    const kept: DecidedCommand = { request_hash, decided_at: ctx.now, answer: JSON.stringify(answer) }
    decided.put(command_id, kept)
    return reply(command, 'decided', kept, ctx)
  }

  function reads(command: Command<C>, key: string): void {
    decided.prefetch(command.command_id)
    store.prefetch(key)
    rows?.reads?.(command.body, key, storedPrefetch)
  }

  const stream = t
    .source(flow.commands, { onError: BAD_COMMANDS })
    .process('decide', { reads, stores, emits }, decideCommand)
    .tick('forget-commands', { everyMs: SWEEP_EVERY_MS, clock: 'wall', stores: [decided] }, (now) => {
      forgetBefore = now - REMEMBERED_MS
      forgetting.run(Math.floor(now / WALK_EVERY_MS))
    })
  return {
    stream,
    change: (key, state, ctx) => change(key, state, ctx),
    apply: (key, changes, ctx) => apply(key, changes, ctx),
    stores,
    emits,
  }
}
