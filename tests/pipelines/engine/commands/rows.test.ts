import { expect, test } from 'vitest'
import {
  avroValue,
  type CommandFacts,
  type CommandFlow,
  commandTopic,
  compositeKey,
  DECIDING,
  type Decided,
  decideCommands,
  decisionTopic,
  emission,
  keyedStore,
  type Rows,
  row,
  type Topic,
  textPart,
  timerStore,
  topology,
  u64Part,
  utf8,
} from '../../../../pipelines/engine/index.ts'
import { decisionDriver } from '../../../../pipelines/engine/testing.ts'
import { APPEND_TIME } from '../../../../schemas/retention.ts'

/**
 * A movement on an account: a deposit if the amount is positive, and a withdrawal if it is negative. Withdrawals use
 * the oldest deposits first.
 */
interface Move {
  readonly amount: number
}
interface Account {
  readonly balance: number
}
interface Deposit {
  readonly left: number
}
type Answer = { readonly taken: readonly string[]; readonly at: number }

const record = (name: string, fields: object[]) => ({ type: 'record', name, namespace: 'test', fields })
const numbers = (name: string, field: string) => avroValue<never>(record(name, [{ name: field, type: 'long' }]))
const size = { partitions: 2, productionPartitions: 2 }
const account = numbers('Account', 'balance') as ReturnType<typeof avroValue<Account>>
const deposit = numbers('Deposit', 'left') as ReturnType<typeof avroValue<Deposit>>
const move = numbers('Move', 'amount') as ReturnType<typeof avroValue<Move>>

const flow: CommandFlow<Move, Account, Answer> = {
  name: 'accounts',
  commands: commandTopic('account-commands', { value: move, config: APPEND_TIME, ...size }),
  decisions: decisionTopic('account-decisions', { value: account, config: {}, ...size }),
}
const moves: Topic<string, Deposit> = { name: 'moves', key: utf8, value: deposit, partitions: 2 }

const depositKey = compositeKey<{ account: string; at: number; id: string }>({ account: textPart, at: u64Part, id: textPart })
const LIFE_MS = 60_000

interface Facts extends CommandFacts {
  readonly rows: Rows
}

function accounts(options: { readonly commands?: typeof flow.commands; readonly emits?: readonly (typeof moves)[] } = {}) {
  const { commands = flow.commands, emits = [moves] } = options
  return topology(
    'accounts',
    (t) => {
      const store = keyedStore('accounts', { key: utf8, value: account })
      const deposits = keyedStore('deposits', { key: depositKey, value: deposit })
      const ends = timerStore('ends', { key: utf8 })

      function decide(state: Account | undefined, { amount }: Move, { key, now, commandId, rows }: Facts): Decided<Account, Answer> {
        const balance = (state?.balance ?? 0) + amount
        if (amount > 0) {
          const id = { account: key, at: now, id: commandId }
          return {
            answer: { taken: [], at: now },
            state: { balance },
            puts: [row(deposits, id, { left: amount }), row(ends, commandId, now + LIFE_MS)],
            emits: [emission(moves, commandId, { left: amount }, { partitionBy: key })],
          }
        }
        let missing = -amount
        const puts = []
        const taken = []
        const from = { account: key, at: 0, id: '' }
        for (const [id, { left }] of rows.scan(deposits, { gte: from, lt: { ...from, at: now } })) {
          if (missing === 0) break
          const part = Math.min(left, missing)
          missing -= part
          taken.push(id.id)
          puts.push(row(deposits, id, part === left ? null : { left: left - part }))
          if (part === left) puts.push(row(ends, id.id, null))
        }
        if (missing > 0) throw new Error('overdrawn')
        return { answer: { taken, at: now }, state: { balance }, puts, emits: taken.map((id) => emission(moves, id, null)) }
      }

      decideCommands(t, {
        flow: { ...flow, commands },
        store,
        decide,
        view: (state) => state,
        rows: { stores: [deposits, ends], reads: (_command, key, rows) => rows.prefetch(ends, key) },
        judgedBy: 'append-time',
        emits,
      })
    },
    DECIDING,
  )
}

const START = Date.UTC(2026, 0, 1)
const opened = () => decisionDriver(accounts(), flow, { startAt: START })

test('a decision reads rows in key order, including rows that earlier commands have changed', () => {
  const { ask, view, driver } = opened()
  ask('a', { amount: 5 }, { id: 'one', appendedAt: START + 1 })
  ask('a', { amount: 5 }, { id: 'two', appendedAt: START + 2 })
  ask('b', { amount: 9 }, { id: 'other', appendedAt: START + 3 })
  ask('a', { amount: 5 }, { id: 'three', appendedAt: START + 4 })
  expect(ask('a', { amount: -7 }, { appendedAt: START + 5 }).taken).toEqual(['one', 'two'])
  expect(ask('a', { amount: -4 }, { appendedAt: START + 6 }).taken).toEqual(['two', 'three'])
  expect(view('a')).toEqual({ balance: 4 })
  const emitted = driver.read(moves).map(({ key, value }) => [key, value?.left])
  expect(emitted).toEqual(
    expect.arrayContaining([
      ['one', 5],
      ['one', undefined],
      ['two', undefined],
    ]),
  )
})

test('rows survive a lost disk, and a decision that a crash interrupts takes effect once and as a whole', () => {
  const { ask, driver, view } = opened()
  ask('a', { amount: 5 }, { id: 'one', appendedAt: START + 1 })
  driver.crashAt('produced')
  expect(() => ask('a', { amount: -5 }, { id: 'takes', appendedAt: START + 2 })).toThrow('crash after produced')
  driver.restart({ wipeState: true })
  driver.settle()
  expect(view('a')).toEqual({ balance: 0 })
  expect(driver.read(moves).map(({ key, value }) => [key, value?.left])).toEqual([
    ['one', 5],
    ['one', undefined],
  ])
  // The row was used up, so its amount cannot be withdrawn twice.
  expect(() => ask('a', { amount: -1 }, { appendedAt: START + 3 })).toThrow('got no result')
})

test('a decision that throws changes no row and does not stop other decisions', () => {
  const { ask, driver, view } = opened()
  ask('a', { amount: 5 }, { appendedAt: START + 1 })
  expect(() => ask('a', { amount: -6 }, { appendedAt: START + 2 })).toThrow('got no result')
  expect(driver.readDeadLetters()).toHaveLength(1)
  expect(ask('a', { amount: -5 }, { appendedAt: START + 3 }).taken).toHaveLength(1)
  expect(view('a')).toEqual({ balance: 0 })
})

test('the time by which commands are judged never goes back within a partition, even after a restart or a lost disk', () => {
  const { ask, driver } = opened()
  const at = (appendedAt: number, key = 'a') => ask(key, { amount: 1 }, { appendedAt }).at
  expect(at(START + 500)).toBe(START + 500)
  expect(at(START + 400)).toBe(START + 500)
  driver.restart()
  expect(at(START + 450)).toBe(START + 500)
  driver.restart({ wipeState: true })
  expect(at(START + 499)).toBe(START + 500)
  expect(at(START + 501)).toBe(START + 501)
})

test('commands that are not decided also advance the time by which later commands are judged', () => {
  const { ask, result } = opened()
  expect(result('a', { amount: 1 }, { id: 'dropped', appendedAt: START + 700, deadline: START - 1 })).toBeUndefined()
  expect(ask('a', { amount: 1 }, { appendedAt: START + 600 }).at).toBe(START + 700)
})

test('the latest append time, which decisions receive as `now`, is kept even when all remembered commands are forgotten', () => {
  const { ask, driver } = opened()
  const first = START + 72 * 3_600_000
  expect(ask('a', { amount: 1 }, { appendedAt: first }).at).toBe(first)
  driver.advanceWallClock(1_000)
  // After this restart, all commands are older than 24 hours, so the next periodic scans forget them.
  driver.restart({ downMs: 200 * 3_600_000 })
  for (let walk = 0; walk < 3; walk++) driver.advanceWallClock(3_600_000)
  expect(ask('a', { amount: 1 }, { appendedAt: first - 1 }).at).toBe(first)
})

test('a command topic whose producers set the timestamps is refused', () => {
  const commands = { ...flow.commands, config: {} }
  expect(() => accounts({ commands }).declare()).toThrow('needs message.timestamp.type=LogAppendTime')
})

test('an emission to a topic that was not declared is refused', () => {
  const { result, driver } = decisionDriver(accounts({ emits: [] }), flow, { startAt: START })
  expect(result('a', { amount: 5 }, { appendedAt: START + 1 })).toBeUndefined()
  expect(driver.readDeadLetters()).toHaveLength(1)
})
