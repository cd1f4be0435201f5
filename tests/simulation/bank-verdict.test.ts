import { expect, test } from 'vitest'
import type { Command, Decision } from '../../schemas/commands/topics.ts'
import { type Account, type BankLogs, BROKEN, decideOrder, deviations, type Order } from './bank-verdict.ts'
import type { InputTimes } from './subject.ts'

const NOW = 1_000
const TIMES: InputTimes = { now: NOW, acknowledgedAt: new Map(), clocksWereWrong: false, requestsWereLate: false }
const DEADLINE = NOW + 24 * 3_600_000

function command(number: number, timestamp: number, kind: Order['kind']) {
  const value: Command<Order> = {
    command_id: `command-${number}`,
    reply_to: `api-${number}`,
    request_hash: 'hash',
    deadline: DEADLINE,
    body: { kind, amount: 5, ms: 0 },
  }
  return { key: 'ann', value, timestamp }
}

/**
 * Returns logs with two orders: a broken order with the time `brokenAt`, and a later order with the time `orderAt`,
 * which was judged at `judgedAt`.
 */
function logs(brokenAt: number, orderAt: number, judgedAt: number): BankLogs {
  const order = command(2, orderAt, 'pay-in')
  const { state, answer } = decideOrder(undefined, order.value.body, order.value.command_id, judgedAt)
  const view: Decision<Account> = { view: state as Account, result: null }
  const result: Decision<Account> = {
    view: null,
    result: {
      command_id: order.value.command_id,
      reply_to: order.value.reply_to,
      outcome: 'decided',
      answer: JSON.stringify(answer),
      request_hash: 'hash',
      decided_at: NOW,
    },
  }
  const decisions = [view, result].map((value) => ({ key: 'ann', value, timestamp: NOW }))
  return { commands: [[command(1, brokenAt, BROKEN), order]], decisions: [decisions], judgedByAppend: true, letters: 1 }
}

test('the time of a broken order affects later orders if the order was dropped after its deadline, but not if it was skipped, so both results are accepted', () => {
  // Two brokers have different clocks, so the later order has an earlier time.
  expect(deviations(logs(470, 415, 415), [1, 2], TIMES)).toEqual([])
  expect(deviations(logs(470, 415, 470), [1, 2], TIMES)).toEqual([])
  expect(deviations(logs(470, 415, 450), [1, 2], TIMES)).toEqual([expect.stringContaining('command-2 to api-2 has the result')])
  expect(deviations(logs(415, 470, 415), [1, 2], TIMES)).toEqual([expect.stringContaining('command-2 to api-2 has the result')])
})
