import { expect, test } from 'vitest'
import { ScoreRequestSchema } from '../../../../api/fraud/score/model.ts'
import { judgeOne } from '../../../../tools/demo/fraud/analyst.ts'
import { pay } from '../../../../tools/demo/fraud/play.ts'
import { type DemoPayment, demoPayments } from '../../../../tools/demo/fraud/stream.ts'
import type { DemoCaller, Reply } from '../../../../tools/demo/http/client.ts'

const START = Date.UTC(2026, 0, 15, 12)
const HOUR_MS = 3_600_000

function played(count: number, seed = 1): DemoPayment[] {
  const stream = demoPayments({ seed, rate: 5, startAt: START })
  return Array.from({ length: count }, stream.next)
}

test('the stream has five payments per second in chronological order, each with a new id', () => {
  const payments = played(9_000)
  expect(payments.map(({ at }) => at)).toEqual(payments.map(({ at }) => at).toSorted((a, b) => a - b))
  const perSecond = payments.length / ((payments.at(-1)!.at - START) / 1_000)
  expect(perSecond).toBeGreaterThan(4.5)
  expect(perSecond).toBeLessThan(5.5)
  expect(new Set(payments.map(({ body }) => body.transaction_id)).size).toBe(payments.length)
  expect(played(300)).toEqual(payments.slice(0, 300))
  expect(played(300, 2)).not.toEqual(payments.slice(0, 300))
})

test('about 1 % of the payments are fraudulent, all patterns occur, and the first fraud comes within seconds', () => {
  const payments = played(18_000)
  const frauds = payments.filter(({ pattern }) => pattern !== undefined)
  expect(frauds.length / payments.length).toBeGreaterThan(0.005)
  expect(frauds.length / payments.length).toBeLessThan(0.015)
  expect(new Set(frauds.map(({ pattern }) => pattern)).size).toBe(7)
  expect(frauds[0].at - START).toBeLessThan(10_000)
  expect(frauds[0].pattern).toBe('new_account')
})

test('in any five minutes, rules block less than 1 % of the payments, so the guard does not intervene', () => {
  const blocked = played(36_000).flatMap(({ at, pattern, body }) => {
    // The rule against card testing blocks the sixth and later payments.
    const isLate = pattern === 'card_testing' && Number(body.transaction_id.split('-').at(-1)) >= 5
    return isLate || pattern === 'account_takeover' || pattern === 'impossible_travel' ? [at] : []
  })
  const most = Math.max(...blocked.map((from) => blocked.filter((at) => at >= from && at < from + 300_000).length))
  expect(most).toBeGreaterThan(3)
  expect(most).toBeLessThan(15)
})

test('scoring accepts every payment at the time when it is sent', () => {
  const faulty = played(9_000).flatMap(({ at, body }) => {
    const parsed = ScoreRequestSchema.safeParse(body)
    const isLate = parsed.success && (parsed.data.timestamp > at || parsed.data.timestamp < at - HOUR_MS)
    return parsed.success && !isLate ? [] : [{ at, body, error: parsed.error?.message }]
  })
  expect(faulty).toEqual([])
})

test('no ordinary user pays more than ten times in an hour of the stream', () => {
  const ordinary = played(18_000).filter(({ pattern }) => pattern === undefined)
  const byUser = Map.groupBy(ordinary, ({ body }) => body.payer.user_id)
  expect(Math.max(...[...byUser.values()].map((all) => all.length))).toBeLessThan(11)
})

async function called(
  run: (client: { ask: (...call: never) => Promise<Reply> }, count: (what: string) => void) => Promise<void>,
  replies: Record<string, Partial<Reply>>,
) {
  const calls: unknown[] = []
  const counts = new Map<string, number>()
  const client = {
    async ask({ scope }: DemoCaller, method: string, path: string, body?: object): Promise<Reply> {
      calls.push([scope, `${method} ${path}`, body])
      return { status: 200, code: '', body: {}, ...replies[method] }
    },
  }
  await run(client as never, (what) => void counts.set(what, (counts.get(what) ?? 0) + 1))
  return { calls, counts: Object.fromEntries(counts) }
}

test('a payment is scored with an internal token, and decisions and errors are counted', async () => {
  const [payment] = played(1)
  const scored = await called((client, count) => pay(client as never, payment, count), { POST: { body: { decision: 'APPROVE' } } })
  expect(scored.calls).toEqual([['internal', 'POST /api/v1/transactions/score', payment.body]])
  expect(scored.counts).toEqual({ approve: 1 })
  const away = await called((client, count) => pay(client as never, payment, count), { POST: { status: 0, code: 'unreachable' } })
  expect(away.counts).toEqual({ unreachable: 1 })
})

test('the simulated analyst leaves the newest cases to people, and its verdicts match the truth', async () => {
  const cases = (id: string) => ({
    GET: { body: { cases: Array.from({ length: 20 }, (_, index) => ({ transaction_id: index === 19 ? id : 't' })) } },
  })
  const fraud = await called((client, count) => judgeOne(client as never, count), cases('demo-x-card_testing-3-1'))
  expect(fraud.calls[1]).toEqual([
    'fraud:analyst',
    'POST /api/v1/transactions/demo-x-card_testing-3-1/feedback',
    { verdict: 'CONFIRMED_FRAUD', fraud_type: 'card_testing' },
  ])
  const honest = await called((client, count) => judgeOne(client as never, count), cases('demo-x-17'))
  expect(honest.calls[1]).toEqual(['fraud:analyst', 'POST /api/v1/transactions/demo-x-17/feedback', { verdict: 'FALSE_POSITIVE' }])
  const few = await called((client, count) => judgeOne(client as never, count), {
    GET: { body: { cases: [{ transaction_id: 'demo-x-1' }] } },
  })
  expect(few.calls).toHaveLength(1)
})
