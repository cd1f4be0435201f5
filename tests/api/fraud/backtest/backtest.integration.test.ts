import { createHash, randomUUID } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { backtestJobs } from '../../../../api/fraud/backtest/jobs.ts'
import type { ReplayOrder } from '../../../../api/fraud/backtest/process/messages.ts'
import { ReplayError, startReplay } from '../../../../api/fraud/backtest/process/start.ts'
import { Replay } from '../../../../api/fraud/backtest/report.ts'
import { createLogger } from '../../../../api/kit/logging.ts'
import { connectViewRedis } from '../../../../api/kit/redis.ts'
import { waitUntil } from '../../../../deploy/local/wait.ts'
import { DEFAULT_POLICY } from '../../../../schemas/fraud/decision/policy.ts'
import type { Rule } from '../../../../schemas/fraud/rules/rule.ts'
import { compileRuleSet } from '../../../../schemas/fraud/rules/rule-set.ts'
import { SEEDED_RULES } from '../../../../schemas/fraud/rules/seeded.ts'
import { NO_SNOOZES, snoozesOf } from '../../../../schemas/fraud/rules/snoozes.ts'
import type { FraudFeedback, FraudVerdict, TxnScored } from '../../../../schemas/fraud/types.ts'
import { fraudFeaturesTable } from '../../../../state/tables/fraud/features.ts'
import { fraudFeedbackTable } from '../../../../state/tables/fraud/feedback.ts'
import { type LoggedTransaction, openLoggedTransactions } from '../../../../state/tables/fraud/logged.ts'
import { tableStore } from '../../../../state/tables/store.ts'
import type { Table } from '../../../../state/tables/table.ts'
import { beginBacktest, endBacktest, renewBacktest } from '../../../../state/views/fraud/backtests.ts'
import { scored } from '../../../pipelines/fraud/scored.ts'
import { DAY, HOUR, pay } from '../../../schemas/fraud/payments.ts'
import { testStack } from '../../../stack/index.ts'
import { testDatabase } from '../../../state/tables/database.ts'

const LAST_DAY = Math.floor(Date.now() / DAY) * DAY
const FIRST_DAY = LAST_DAY - 2 * DAY
const PERIOD = { from: FIRST_DAY, to: LAST_DAY + DAY }
const DAYS = 3
const PER_DAY = 4_000
/** The back-test process has the lowest priority, so it starves while other tests keep all cores busy. */
const PATIENT = { timeoutMs: 100_000, intervalMs: 20 }

const RULES: readonly Rule[] = [
  { ...SEEDED_RULES[0], rule_id: 'high', condition: 'txn.amount > 900', action: 'BLOCK', priority: 1 },
  { ...SEEDED_RULES[0], rule_id: 'listed', condition: "inList('bad', payee.merchant_id)", action: 'REVIEW', priority: 2 },
]
const LISTS = new Map([['bad', new Set(['m7'])]])
const SNOOZES = snoozesOf([{ rule_id: 'high', entity_type: 'USER', entity_value: 'u3', created_at: 0, until: FIRST_DAY + DAY }])

function eventsOfDay(day: number): TxnScored[] {
  return Array.from({ length: PER_DAY }, (_, index) => {
    const at = FIRST_DAY + day * DAY + Math.floor((index * DAY) / PER_DAY)
    const request = pay({ id: `t${day}-${index}`, at, amount: index % 1_000, user: `u${index % 50}`, merchant: `m${index % 100}` })
    return { ...scored(request), policy_version: DEFAULT_POLICY.version, scored_at: at }
  })
}

function verdictOf(transactionId: string, verdict: FraudVerdict, at: number): FraudFeedback {
  const nobody = { user_id: 'u1', device: null, ip: null, card: null, merchant: null }
  const about = { transaction_id: transactionId, case_id: '1', fraud_type: null, notes: '', evidence: [], reporter: 'ann', ...nobody }
  return { ...about, verdict, previous_verdict: null, previous_at: null, at }
}

/** Fills the tables with the events of three days. Returns the events, and a function that reads them back. */
async function world() {
  const { url, database, client } = await testDatabase()
  let offset = 0
  async function fill<V>(table: Table<string, V>, values: readonly V[]): Promise<void> {
    const store = tableStore(table, client, { cluster: undefined })
    await store.prepare()
    const rows = values.flatMap((value) => table.rowsOf('key', value)).map((row) => ({ offset: offset++, row }))
    if (rows.length > 0) await store.insert({ topic: table.name, partition: 0, rows })
  }
  const days = Array.from({ length: DAYS }, (_, day) => eventsOfDay(day))
  for (const events of days) await fill(fraudFeaturesTable, events)
  // These events are inserted twice, but must count once.
  await fill(fraudFeaturesTable, days[1].slice(0, 10))
  await fill(fraudFeedbackTable, [
    verdictOf('t0-950', 'FALSE_POSITIVE', FIRST_DAY + HOUR),
    verdictOf('t0-950', 'CONFIRMED_FRAUD', FIRST_DAY + 2 * HOUR),
    verdictOf('t1-1', 'SUSPICIOUS', LAST_DAY),
    verdictOf('t1-2', 'FALSE_POSITIVE', LAST_DAY),
  ])
  const log = openLoggedTransactions(client)
  async function read(query: { from: number; to: number; limit: number }): Promise<{ available: number; found: LoggedTransaction[] }> {
    const { available, batches } = await log.sample(query)
    const found: LoggedTransaction[] = []
    for await (const batch of batches) found.push(...batch)
    return { available, found }
  }
  const clickhouse = { url, database, username: 'default', password: '' }
  const orderOf = (limit: number): ReplayOrder => ({
    version: 1,
    rules: RULES,
    policy: DEFAULT_POLICY,
    query: { ...PERIOD, limit },
    clickhouse,
  })
  return { events: days.flat(), client, read, orderOf }
}

async function jobsOnRedis() {
  const redis = connectViewRedis({
    url: await testStack().redis(),
    cluster: false,
    log: createLogger('silent'),
    monotonic: () => performance.now(),
  })
  onTestFinished(() => redis.close())
  await waitUntil(async () => redis.scripts.run({ name: 'one', source: 'return 1' }, ['any'], []).then(() => true), {
    what: 'Redis',
    ...PATIENT,
  })
  return { scripts: redis.scripts, open: () => backtestJobs({ scripts: redis.scripts, log: createLogger('silent'), now: Date.now }) }
}

const jobOf = (subject = randomUUID()) => ({ jobId: randomUUID(), subject })

test('the log returns each event of a period once, with its label', async () => {
  const { events, read } = await world()
  const { available, found } = await read({ ...PERIOD, limit: 1_000_000 })
  expect(available).toBeGreaterThanOrEqual(DAYS * PER_DAY)
  const byId = new Map(found.map((transaction) => [transaction.request.transaction_id, transaction]))
  expect([found.length, byId.size]).toEqual([DAYS * PER_DAY, DAYS * PER_DAY])
  const labels = { 't0-950': 'CONFIRMED_FRAUD', 't1-1': 'SUSPICIOUS', 't1-2': 'FALSE_POSITIVE', 't2-3': null }
  for (const [id, verdict] of Object.entries(labels)) {
    const event = events.find(({ request }) => request.transaction_id === id)
    expect(byId.get(id)).toEqual({ ...event, verdict })
  }
  const part = await read({ from: FIRST_DAY + HOUR, to: FIRST_DAY + DAY + 1, limit: 1_000_000 })
  const inside = events.filter(({ scored_at }) => scored_at >= FIRST_DAY + HOUR && scored_at < FIRST_DAY + DAY + 1)
  expect(new Set(part.found.map(({ request }) => request.transaction_id))).toEqual(
    new Set(inside.map(({ request }) => request.transaction_id)),
  )
})

test('a sample covers all half days evenly, never exceeds its limit, and is repeatable', async () => {
  const { read } = await world()
  const { found } = await read({ ...PERIOD, limit: 1_200 })
  expect(found.length).toBeLessThanOrEqual(1_200)
  expect(found.length).toBeGreaterThan(1_000)
  for (let half = 0; half < 2 * DAYS; half++) {
    const from = FIRST_DAY + (half * DAY) / 2
    const share = found.filter(({ scored_at }) => scored_at >= from && scored_at < from + DAY / 2).length
    expect(share).toBeGreaterThan(130)
  }
  const ids = (transactions: readonly LoggedTransaction[]) => transactions.map(({ request }) => request.transaction_id).sort()
  expect(ids((await read({ ...PERIOD, limit: 1_200 })).found)).toEqual(ids(found))
})

test('the back-test process computes the same report as the test does, and any process can read the job', async () => {
  const { events, orderOf } = await world()
  const expected = new Replay({ ruleSet: compileRuleSet(1, RULES), lists: LISTS, snoozes: SNOOZES, policy: DEFAULT_POLICY })
  for (const event of events) {
    expected.add({
      ...event,
      verdict: ({ 't0-950': 'CONFIRMED_FRAUD', 't1-2': 'FALSE_POSITIVE' } as const)[event.request.transaction_id] ?? null,
    })
  }
  const { open } = await jobsOnRedis()
  const [jobs, other] = [open(), open()]
  const job = jobOf()
  const request = { order: orderOf(1_000_000), lists: LISTS, snoozes: SNOOZES }
  const replay = {
    run: (onProgress: Parameters<typeof startReplay>[1]) => startReplay(request, onProgress),
    report: (found: unknown) => found,
  }
  expect(await jobs.start(job, replay)).toEqual({ outcome: 'started' })
  expect(await other.start({ ...jobOf(job.subject) }, replay)).toEqual({ outcome: 'caller_busy', jobId: job.jobId })
  await waitUntil(async () => (await other.read(job.jobId))?.status !== 'running', { what: 'the job', ...PATIENT })
  const state = await other.read(job.jobId)
  expect(state).toMatchObject({ status: 'done', progress: 1, reason: null })
  const result = expected.result()
  expect(state?.report).toEqual({ available: expect.any(Number), result })
  expect(result.would_be.block).toBeGreaterThan(0)
  expect(result.rules.map(({ matched, snoozed }) => [matched > 0, snoozed > 0])).toEqual([
    [true, true],
    [true, false],
  ])
  // A repetition of the same request finds the existing job and does not start another one.
  expect(await jobs.start(job, { ...replay, run: () => expect.unreachable() })).toEqual({ outcome: 'started' })
  expect(await other.read('unknown')).toBeUndefined()
  await Promise.all([jobs.close(), other.close()])
})

test('a failed back-test gives its reason: an unreachable history store, the time limit, or a stopped API', async () => {
  const { orderOf } = await world()
  const order = orderOf(1_000)
  const nothing = { lists: new Map(), snoozes: NO_SNOOZES }
  const broken = { ...order, clickhouse: { ...order.clickhouse, url: 'http://127.0.0.1:1' } }
  await expect(startReplay({ order: broken, ...nothing }, () => undefined).done).rejects.toThrow('history store')
  await expect(startReplay({ order, ...nothing }, () => undefined, 0).done).rejects.toThrow('too long')
  // The message of an unexpected error is for the log, and not for callers.
  const invalid = { ...order, rules: undefined as never }
  const failure = await startReplay({ order: invalid, ...nothing }, () => undefined).done.catch((error: unknown) => error)
  expect(failure).toMatchObject({ message: expect.stringMatching(/undefined|iterable/) })
  expect(failure).not.toBeInstanceOf(ReplayError)
  const { open } = await jobsOnRedis()
  const jobs = open()
  const never = { run: () => ({ ...neverEnding() }), report: () => null }
  const job = jobOf()
  await jobs.start(job, never)
  expect(await jobs.read(job.jobId)).toMatchObject({ status: 'running' })
  await jobs.close()
  expect(await open().read(job.jobId)).toMatchObject({ status: 'failed', reason: expect.stringContaining('stopped') })
})

test('a job that its process no longer renews is reported as failed, and its caller may start another job', async () => {
  const { scripts, open } = await jobsOnRedis()
  const jobs = open()
  const job = jobOf()
  const state = { status: 'running', progress: 0.5, started_at: Date.now(), ended_at: null, reason: null, report: null } as const
  expect(await beginBacktest(scripts, job, state)).toEqual({ outcome: 'begun' })
  expect(await jobs.read(job.jobId)).toEqual(state)
  // Deletes the keys of the job, as their expiry would.
  const caller = `{fraud-backtests}:caller:${createHash('sha256').update(job.subject).digest('base64url').slice(0, 22)}`
  const expire = { name: 'expire', source: `return redis.call('DEL', unpack(KEYS))` }
  expect(await scripts.run(expire, [`{fraud-backtests}:running:${job.jobId}`, caller], [])).toBe(2)
  expect(await jobs.read(job.jobId)).toMatchObject({ status: 'failed', progress: 0.5, reason: expect.stringContaining('has ended') })
  const next = { jobId: randomUUID(), subject: job.subject }
  expect(await beginBacktest(scripts, next, state)).toEqual({ outcome: 'begun' })
  // A renewal that arrives after the end of the back-test changes nothing.
  await endBacktest(scripts, next, { ...state, status: 'done', progress: 1 })
  await renewBacktest(scripts, next, state)
  expect(await jobs.read(next.jobId)).toMatchObject({ status: 'done' })
  expect(await beginBacktest(scripts, { jobId: randomUUID(), subject: job.subject }, state)).toEqual({ outcome: 'begun' })
})

/** Returns a replay that ends only when it is cancelled. */
function neverEnding() {
  const { promise: done, reject } = Promise.withResolvers<never>()
  return { done, cancel: (reason: string) => reject(new ReplayError(reason)) }
}
