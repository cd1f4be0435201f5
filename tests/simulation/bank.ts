import { partitionFor } from '../../kafka/partitioner.ts'
import {
  type Codec,
  DECIDING,
  decideCommands,
  keyedStore,
  rawValue,
  row,
  type Topic,
  type Topology,
  timerStore,
  topology,
  utf8,
} from '../../pipelines/engine/index.ts'
import type { Command, CommandFlow, Decision } from '../../schemas/commands/topics.ts'
import { APPEND_TIME } from '../../schemas/retention.ts'
import { type Account, type Answer, BROKEN, decideOrder, deviations, missing, type Order, release } from './bank-verdict.ts'
import type { Cluster } from './cluster/cluster.ts'
import { keyOf } from './cluster/groups.ts'
import { committedRecords } from './read-log.ts'
import type { InputRecord, Subject } from './subject.ts'

const NAME = 'bank'
const ACCOUNTS = 4
const MOST_AMOUNT = 20
const SHARE_BROKEN = 0.03
const SHARE_HOLDS = 0.3
const LONGEST_HOLD_MS = 1_500
/** Share of commands that are repetitions of an earlier command. */
const SHARE_REPEATED = 0.3
/** Share of repetitions whose request differs from the first request. The service must report them as conflicts. */
const SHARE_CONFLICTS = 0.15
/** Share of commands with a short deadline. */
const SHARE_SHORT = 0.2
const SHORT_DEADLINE_MS = 600
/** Time until the deadline of all other commands. It is longer than the error of every clock. */
const LONG_DEADLINE_MS = 24 * 3_600_000
const TICK_MS = 100
const RELEASED_AT_ONCE = 10

function json<T>(): Codec<T> {
  return {
    encode: (value, out) => utf8.encode(JSON.stringify(value), out),
    decode: (buffer, start, end) => JSON.parse(utf8.decode(buffer, start, end)) as T,
  }
}

function jsonTopic<V>(name: string, partitions: number): Topic<string, V> {
  return { name, key: utf8, value: rawValue(json<V>()), partitions }
}

type Flow = CommandFlow<Order, Account, Answer>

function banking(flow: Flow, { standby, judgedByAppend }: BankOptions): Topology {
  return topology(
    NAME,
    (t) => {
      const accounts = keyedStore<string, Account>('accounts', { key: utf8, value: rawValue(json()) })
      const held = keyedStore<string, { account: string; amount: number }>('held', { key: utf8, value: rawValue(json()) })
      const due = timerStore<string>('due', { key: utf8 })
      const { stream, stores, emits, apply } = decideCommands(t, {
        flow,
        store: accounts,
        judgedBy: judgedByAppend ? 'append-time' : 'decision-time',
        rows: { stores: [held, due] },
        view: (account) => account,
        decide(account, order, { key, now, commandId }) {
          if (order.kind === BROKEN) throw new Error('a broken order')
          const { state, answer } = decideOrder(account, order, commandId, judgedByAppend ? now : 0)
          if (order.kind !== 'hold' || state === undefined) return { answer, state }
          const puts = [row(held, commandId, { account: key, amount: order.amount }), row(due, commandId, now + order.ms)]
          return { answer, state, puts }
        },
      })
      stream.tick('release', { everyMs: TICK_MS, clock: 'wall', stores, emits }, function releaseDue(now, ctx) {
        for (const { key: id } of due.takeDue(now, RELEASED_AT_ONCE)) {
          const hold = held.get(id)
          const before = hold && accounts.get(hold.account)
          if (hold === undefined || before === undefined) throw new Error(`the hold ${id} has no account`)
          apply(hold.account, { state: release(before, id, hold.amount), puts: [row(held, id, null)] }, ctx)
        }
      })
    },
    { ...DECIDING, standby },
  )
}

export interface BankOptions {
  readonly partitions: number
  readonly standby: 0 | 1
  /** True if orders are judged by the time at which the broker appended them, and not by the worker's clock. */
  readonly judgedByAppend: boolean
}

/**
 * Accounts that orders change. The orders are sent as commands. An order can put a hold on part of an account's
 * balance. When the hold expires, a tick releases the money.
 */
export function bank(options: BankOptions): Subject {
  const { partitions, judgedByAppend } = options
  const config = judgedByAppend ? APPEND_TIME : undefined
  const commands = { ...jsonTopic<Command<Order>>(`${NAME}-commands`, partitions), config }
  const decisions = jsonTopic<Decision<Account>>(`${NAME}-decisions`, partitions)
  const sent: { readonly key: string; readonly command: Command<Order> }[] = []

  function read<V>(cluster: Cluster, { name }: { readonly name: string }) {
    return committedRecords(cluster, name).map((records) =>
      records.map(({ key, value, timestamp }) => ({ key, timestamp, value: JSON.parse(value) as V })),
    )
  }

  function logs(cluster: Cluster) {
    return {
      commands: read<Command<Order>>(cluster, commands),
      decisions: read<Decision<Account>>(cluster, decisions),
      judgedByAppend,
      letters: committedRecords(cluster, `${NAME}-dead-letters`).flat().length,
    }
  }

  /** Returns true if all commands are decided or dropped. Commands with a short deadline need not have a result. */
  function isRead(cluster: Cluster): boolean {
    const offsets = cluster.groups.get(NAME)?.offsets
    const all = cluster.topics.get(commands.name)?.logs ?? []
    return all.every(({ partition, end }) => (offsets?.get(keyOf(commands.name, partition))?.offset ?? 0) >= end)
  }

  function newCommand(number: number, random: () => number): { readonly key: string; readonly command: Command<Order> } {
    const key = `account-${Math.floor(random() * ACCOUNTS)}`
    const amount = 1 + Math.floor(random() * MOST_AMOUNT)
    const draw = random()
    const ms = Math.floor(random() * LONGEST_HOLD_MS)
    const kind = draw < SHARE_BROKEN ? BROKEN : draw < SHARE_BROKEN + SHARE_HOLDS ? 'hold' : draw < 0.8 ? 'pay-in' : 'pay-out'
    const id = `command-${number}`
    return { key, command: { command_id: id, request_hash: id, reply_to: '', deadline: 0, body: { kind, amount, ms } } }
  }

  function input(number: number, random: () => number, now: number): InputRecord[] {
    const repeats = sent.length > 0 && random() < SHARE_REPEATED
    const { key, command: first } = repeats ? sent[Math.floor(random() * sent.length)] : newCommand(number, random)
    const request_hash = repeats && random() < SHARE_CONFLICTS ? `other-${number}` : first.request_hash
    const deadline = now + (random() < SHARE_SHORT ? Math.floor(random() * SHORT_DEADLINE_MS) : LONG_DEADLINE_MS)
    const command = { ...first, request_hash, deadline, reply_to: `api-${number}` }
    sent.push({ key, command })
    const partition = partitionFor(Buffer.from(key), partitions)
    return [{ topic: commands.name, partition, key, value: JSON.stringify(command), timestamp: now }]
  }

  return {
    topology: banking({ name: NAME, commands, decisions }, options),
    inputs: [commands, decisions],
    input,
    end: () => [],
    isComplete: (cluster, times) => isRead(cluster) && missing(logs(cluster), times).length === 0,
    deviations: (cluster, numbers, times) => deviations(logs(cluster), numbers, times),
  }
}
