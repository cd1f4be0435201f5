import type { Command, Decision } from '../../schemas/commands/topics.ts'
import type { InputTimes } from './subject.ts'

export const BROKEN = 'broken'
const MAX_SHOWN = 5
const HOUR_MS = 3_600_000

export interface Order {
  readonly kind: 'pay-in' | 'pay-out' | 'hold' | typeof BROKEN
  readonly amount: number
  /** Duration of the hold that the order requests. */
  readonly ms: number
}

export interface Account {
  readonly balance: number
  /** How many times the account has changed. */
  readonly changes: number
  /** Ids of the open holds, in the order in which they were made. */
  readonly holds: readonly string[]
  /** Cause of the account's last change: the id of a command, or `release` followed by the id of a hold. */
  readonly cause: string
}

export interface Answer {
  readonly accepted: boolean
  readonly balance: number
  /** The time used to judge the command, epoch ms; 0 if this time came from the worker's clock. */
  readonly at: number
}

export function decideOrder(account: Account | undefined, { kind, amount }: Order, id: string, at: number) {
  const { balance, changes, holds } = account ?? { balance: 0, changes: 0, holds: [] }
  if (kind !== 'pay-in' && amount > balance) return { state: undefined, answer: { accepted: false, balance, at } }
  const next = kind === 'pay-in' ? balance + amount : balance - amount
  const state: Account = { balance: next, changes: changes + 1, holds: kind === 'hold' ? [...holds, id] : holds, cause: id }
  return { state, answer: { accepted: true, balance: next, at } }
}

export function release({ balance, changes, holds }: Account, id: string, amount: number): Account {
  return { balance: balance + amount, changes: changes + 1, holds: holds.filter((hold) => hold !== id), cause: `release ${id}` }
}

type Keyed<V> = { readonly key: string; readonly value: V; readonly timestamp: number }
type ByPartition<V> = readonly (readonly Keyed<V>[])[]

export interface BankLogs {
  readonly commands: ByPartition<Command<Order>>
  readonly decisions: ByPartition<Decision<Account>>
  readonly judgedByAppend: boolean
  /** Number of orders that have become dead letters. */
  readonly letters: number
}

/** Describes everything that is still missing from the output. */
export function missing(logs: BankLogs, times: InputTimes): string[] {
  const results = new Set(logs.decisions.flat().flatMap(({ value }) => value.result?.reply_to ?? []))
  const views = new Map(logs.decisions.flat().flatMap(({ key, value }) => (value.view === null ? [] : [[key, value.view]])))
  // If a clock was wrong, a hold may end far in the future, so open holds are acceptable.
  const held = times.clocksWereWrong ? [] : [...views].filter(([, { holds }]) => holds.length > 0)
  const decided = new Set<string>()
  const unanswered = logs.commands.flat().filter(({ value }) => {
    const isAnswered = results.has(value.reply_to)
    // A repetition of a decided command gets its answer again, even after the deadline of the repetition.
    const mustBe = decided.has(value.command_id) || mustBeAnswered(value, times)
    if (isAnswered) decided.add(value.command_id)
    return mustBe && !isAnswered
  })
  const broken = certainlyBroken(logs, times)
  return [
    ...unanswered.map(({ value }) => `${value.command_id} to ${value.reply_to} has no result`),
    ...held.map(([key, { holds }]) => `${key} still holds ${holds.join()}`),
    ...(logs.letters < broken ? [`${logs.letters} dead letters instead of at least ${broken}`] : []),
  ]
}

/**
 * Returns true if a command must have an answer. No clock was wrong by more than an hour, so a command whose deadline
 * is more than two hours away is never dropped.
 */
function mustBeAnswered({ body, deadline }: Command<Order>, { now }: InputTimes): boolean {
  return body.kind !== BROKEN && deadline > now + 2 * HOUR_MS
}

function certainlyBroken({ commands }: BankLogs, { now }: InputTimes): number {
  return commands.flat().filter(({ value }) => value.body.kind === BROKEN && value.deadline > now + 2 * HOUR_MS).length
}

/**
 * Returns deviations from the results that the commands must have if they are decided in log order; at most five.
 * @param sent the numbers of all commands that were sent, in ascending order
 */
export function deviations(logs: BankLogs, sent: readonly number[], times: InputTimes): string[] {
  const numbers = logs.commands
    .flat()
    .map(({ value }) => Number(value.reply_to.slice('api-'.length)))
    .sort((a, b) => a - b)
  const broken = logs.commands.flat().filter(({ value }) => value.body.kind === BROKEN).length
  return [
    ...(numbers.join() === sent.join() ? [] : [`the input holds the commands ${numbers.join()} instead of ${sent.join()}`]),
    ...logs.commands.flatMap((commands, partition) => decisionFaults(commands, logs.decisions[partition] ?? [], logs.judgedByAppend)),
    ...(logs.letters > broken ? [`${logs.letters} dead letters for ${broken} broken orders`] : []),
    ...missing(logs, times),
  ].slice(0, MAX_SHOWN)
}

/** Repeats the decisions about the commands of one partition, and compares them with the original decisions. */
function decisionFaults(
  commands: readonly Keyed<Command<Order>>[],
  decisions: readonly Keyed<Decision<Account>>[],
  judgedByAppend: boolean,
): string[] {
  const accounts = new Map<string, Account>()
  const first = new Map<string, { readonly hash: string; readonly answer: string }>()
  const amounts = new Map(commands.map(({ value }) => [value.command_id, value.body.amount]))
  const faults: string[] = []
  let next = 0
  /**
   * The times that may be used to judge the next order. There are several only after broken orders: an order that is
   * skipped because it fails does not affect the time, but an order that is dropped after its deadline does.
   */
  let judgedAt: readonly number[] = [0]

  /** Replays the hold releases that ticks made before the next decision. */
  function takeReleases(): void {
    for (;;) {
      const { key, value } = decisions[next] ?? {}
      const id = /^release (\S+)$/.exec(value?.view?.cause ?? '')?.[1]
      if (key === undefined || id === undefined) return
      const before = accounts.get(key)
      if (before === undefined || !before.holds.includes(id)) faults.push(`${key} releases ${id}, which it does not hold`)
      else expectView(key, release(before, id, amounts.get(id) ?? 0))
      next++
    }
  }

  function expectView(key: string, wanted: Account): void {
    accounts.set(key, wanted)
    const { key: of, value } = decisions[next] ?? {}
    const [is, must] = [JSON.stringify(value?.view), JSON.stringify(wanted)]
    if (of !== key || is !== must) faults.push(`the view of ${key} is ${is} of ${of} instead of ${must}`)
  }

  for (const { key, value: command, timestamp } of commands) {
    const before = judgedAt
    if (judgedByAppend) judgedAt = before.map((at) => Math.max(at, timestamp))
    takeReleases()
    const { command_id: id, request_hash: hash, reply_to: to, body } = command
    const known = first.get(id)
    const result = decisions.slice(next).find(({ value }) => value.result !== null)?.value.result
    if (result?.reply_to !== to) {
      if (known !== undefined && body.kind !== BROKEN) faults.push(`${id} to ${to} has no result, though it was decided`)
      if (body.kind === BROKEN) judgedAt = [...new Set([...judgedAt, ...before])]
      continue
    }
    if (known === undefined) {
      const [judged] = judgedAt.filter((at) => at === statedTime(result.answer)).concat(judgedAt)
      judgedAt = [judged]
      const { state, answer } = decideOrder(accounts.get(key), body, id, judged)
      if (state !== undefined) {
        expectView(key, state)
        next++
      }
      if (result.decided_at > command.deadline) faults.push(`${id} to ${to} was decided after its deadline`)
      first.set(id, { hash, answer: JSON.stringify(answer) })
    }
    const { hash: firstHash, answer } = first.get(id) ?? { hash, answer: '' }
    const [outcome, said] = hash === firstHash ? ['decided', answer] : ['conflict', '']
    if (result.outcome !== outcome || result.answer !== said)
      faults.push(`${id} to ${to} has the result ${result.outcome} ${result.answer} instead of ${outcome} ${said}`)
    next++
  }
  takeReleases()
  if (next !== decisions.length)
    faults.push(`${decisions.length - next} decisions too many, the first of which is ${JSON.stringify(decisions[next])}`)
  return faults
}

/** Returns the time used to judge an order, according to the result. */
function statedTime(answer: string): number | undefined {
  return answer === '' ? undefined : (JSON.parse(answer) as Answer).at
}
