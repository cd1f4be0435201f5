import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { KeyedStore } from '../../../pipelines/engine/index.ts'
import { decisionDriver, type TestDriver, testDriver } from '../../../pipelines/engine/testing.ts'
import { fraudCasesTopology } from '../../../pipelines/fraud/cases/topology.ts'
import { partitionOfCase } from '../../../schemas/fraud/cases/case-id.ts'
import { caseFlow } from '../../../schemas/fraud/cases/flow.ts'
import { fraudCases, fraudReviews } from '../../../schemas/fraud/cases/topics.ts'
import { fraudFeedback } from '../../../schemas/fraud/topics.ts'
import type { FraudCase, FraudCaseCommand, FraudCaseStatus, FraudReview, FraudVerdict } from '../../../schemas/fraud/types.ts'
import { DAY, NOON } from '../../schemas/fraud/payments.ts'
import { caseCommand, review } from './case-commands.ts'

const T1 = review({ id: 't1', user: 'u1', device: 'd1', ip: '192.0.2.1', card: 'c1', merchant: 'm1' })
/** A time that is long enough for all pending ticks to fire, in ms. */
const MOMENT = 2_000
const STATUSES: readonly FraudCaseStatus[] = ['OPEN', 'IN_REVIEW', 'ESCALATED', 'CONFIRMED_FRAUD', 'FALSE_POSITIVE']
/** The status changes that bring a new case into each status. */
const WAYS: Readonly<Record<FraudCaseStatus, readonly FraudCaseStatus[]>> = {
  OPEN: [],
  IN_REVIEW: ['IN_REVIEW'],
  ESCALATED: ['ESCALATED'],
  CONFIRMED_FRAUD: ['CONFIRMED_FRAUD'],
  FALSE_POSITIVE: ['FALSE_POSITIVE'],
}

function storedCase(driver: TestDriver, id: string): FraudCase | undefined {
  return driver.store<KeyedStore<string, FraudCase>>('cases').get(id)
}

function casesDriver() {
  const { ask, view, driver } = decisionDriver(fraudCasesTopology, caseFlow, { startAt: NOON })
  const open = (transaction: FraudReview = T1) => driver.pipe(fraudReviews, transaction.transaction_id, transaction)
  const change = (asked: Partial<FraudCaseCommand>, id = 't1') => ask(id, caseCommand(asked))
  const feedback = () => driver.read(fraudFeedback).map(({ value }) => value!)
  function daysPass(days: number): void {
    driver.restart({ downMs: days * DAY })
    driver.advanceWallClock(MOMENT)
  }
  return { driver, open, change, feedback, daysPass, view: (id = 't1') => view(id) }
}

test('a transaction with the decision REVIEW opens one case, however often the transaction is delivered', () => {
  const { open, view, feedback } = casesDriver()
  open()
  const first = view()!
  expect(first).toMatchObject({
    version: 1,
    transaction: T1,
    status: 'OPEN',
    assigned_to: null,
    verdict: null,
    created_at: NOON,
    resolved_at: null,
  })
  open()
  open({ ...T1, risk_score: 900 })
  expect(view()).toEqual(first)
  expect(feedback()).toEqual([])
})

test.each(
  STATUSES.flatMap((before) =>
    STATUSES.map((after) => {
      const isFinal = (status: FraudCaseStatus) => status === 'CONFIRMED_FRAUD' || status === 'FALSE_POSITIVE'
      const allowed = before === after || isFinal(after) || (after !== 'OPEN' && !isFinal(before))
      return [before, after, allowed ? 'done' : 'no_transition'] as const
    }),
  ),
)('a status change from %s to %s has the outcome %s', (before, after, outcome) => {
  const { open, change, view } = casesDriver()
  open()
  for (const status of WAYS[before]) change({ status })
  expect(view()?.status).toBe(before)
  expect(change({ status: after, notes: 'because' }).outcome).toBe(outcome)
  expect(view()?.status).toBe(outcome === 'done' ? after : before)
})

test.each([
  ['CONFIRMED_FRAUD', 'CONFIRMED_FRAUD', true],
  ['FALSE_POSITIVE', 'FALSE_POSITIVE', true],
  ['SUSPICIOUS', 'ESCALATED', false],
] as const)('the verdict %s gives the status %s and is published', (verdict, status, isClosed) => {
  const { driver, open, change, view, feedback } = casesDriver()
  open()
  driver.advanceWallClock(1_000)
  change({ verdict, fraud_type: { text: 'stolen_card' }, notes: 'n', evidence: ['e'], actor: 'bob' })
  expect(view()).toMatchObject({
    status,
    verdict,
    verdict_at: NOON + 1_000,
    resolved_at: isClosed ? NOON + 1_000 : null,
    fraud_type: 'stolen_card',
  })
  const { transaction_id, user_id, device, ip, card, merchant } = T1
  expect(feedback()).toEqual([
    {
      transaction_id,
      case_id: view()?.case_id,
      verdict,
      previous_verdict: null,
      previous_at: null,
      fraud_type: 'stolen_card',
      notes: 'n',
      evidence: ['e'],
      reporter: 'bob',
      at: NOON + 1_000,
      user_id,
      device,
      ip,
      card,
      merchant,
    },
  ])
})

test.each([
  [{ status: 'FALSE_POSITIVE' }, 'FALSE_POSITIVE', 'FALSE_POSITIVE'],
  [{ verdict: 'FALSE_POSITIVE' }, 'FALSE_POSITIVE', 'FALSE_POSITIVE'],
  [{ verdict: 'SUSPICIOUS' }, 'SUSPICIOUS', 'ESCALATED'],
] as const)('%o corrects a verdict only with a note, and the feedback names the previous verdict', (asked, verdict, status) => {
  const { driver, open, change, view, feedback } = casesDriver()
  open()
  change({ verdict: 'CONFIRMED_FRAUD' })
  feedback()
  driver.advanceWallClock(1_000)
  for (const notes of [null, '', ' ']) expect(change({ ...asked, notes }).outcome).toBe('needs_note')
  expect(feedback()).toEqual([])
  expect(change({ ...asked, notes: 'the user remembered' }).outcome).toBe('done')
  expect(view()).toMatchObject({ status, verdict, resolved_at: status === 'ESCALATED' ? null : NOON + 1_000 })
  expect(feedback()).toMatchObject([{ verdict, previous_verdict: 'CONFIRMED_FRAUD', previous_at: NOON, at: NOON + 1_000 }])
})

test('a verdict after a suspicion needs no note, and a repeated verdict is recorded', () => {
  const { open, change, view, feedback } = casesDriver()
  open()
  for (const verdict of ['SUSPICIOUS', 'CONFIRMED_FRAUD', 'CONFIRMED_FRAUD'] as const) expect(change({ verdict }).outcome).toBe('done')
  expect(feedback().map(({ verdict, previous_verdict }) => [previous_verdict, verdict])).toEqual([
    [null, 'SUSPICIOUS'],
    ['SUSPICIOUS', 'CONFIRMED_FRAUD'],
    ['CONFIRMED_FRAUD', 'CONFIRMED_FRAUD'],
  ])
  expect(view()?.version).toBe(4)
})

test('each verdict is later than the previous one, even if the clock goes back, because the newest verdict is the label', () => {
  const { driver, open, change, view, feedback } = casesDriver()
  open()
  change({ verdict: 'CONFIRMED_FRAUD' })
  change({ verdict: 'FALSE_POSITIVE', notes: 'the user remembered' })
  driver.restart({ downMs: -1_000 })
  change({ verdict: 'CONFIRMED_FRAUD', notes: 'the user was mistaken' })
  expect(feedback().map(({ at }) => at)).toEqual([NOON, NOON + 1, NOON + 2])
  expect(view()).toMatchObject({ verdict_at: NOON + 2, resolved_at: NOON + 2 })
})

test('the feedback about a correction names the time at which the corrected verdict was first given, even if that verdict was repeated', () => {
  const { driver, open, change, view, feedback } = casesDriver()
  open()
  change({ verdict: 'CONFIRMED_FRAUD' })
  driver.advanceWallClock(1_000)
  change({ verdict: 'CONFIRMED_FRAUD' })
  driver.advanceWallClock(1_000)
  change({ fraud_type: { text: 'stolen_card' } })
  expect(view()?.verdict_at).toBe(NOON)
  driver.advanceWallClock(1_000)
  change({ verdict: 'FALSE_POSITIVE', notes: 'the user remembered' })
  expect(feedback().at(-1)).toMatchObject({ previous_verdict: 'CONFIRMED_FRAUD', previous_at: NOON, at: NOON + 3_000 })
})

test('the fraud type is part of the label, so changing the type of a confirmed fraud publishes the verdict again', () => {
  const { open, change, feedback } = casesDriver()
  open()
  change({ fraud_type: { text: 'account_takeover' } })
  expect(feedback()).toEqual([])
  change({ status: 'CONFIRMED_FRAUD' })
  change({ fraud_type: { text: 'stolen_card' } })
  expect(feedback().map(({ verdict, fraud_type }) => [verdict, fraud_type])).toEqual([
    ['CONFIRMED_FRAUD', 'account_takeover'],
    ['CONFIRMED_FRAUD', 'stolen_card'],
  ])
})

test('the assignee and the notes can change without a verdict, and a request that repeats the current values changes nothing', () => {
  const { open, change, view, feedback } = casesDriver()
  open()
  expect(change({ assigned_to: { text: 'bob' }, notes: 'called' })).toMatchObject({
    outcome: 'done',
    found: { assigned_to: 'bob', notes: 'called', version: 2 },
  })
  expect(change({ assigned_to: { text: 'bob' }, notes: 'called' })).toMatchObject({ outcome: 'done', found: { version: 2 } })
  expect(change({ assigned_to: { text: null } })).toMatchObject({ found: { assigned_to: null, notes: 'called', version: 3 } })
  expect(view()?.history.map(({ action, actor, assigned_to, notes }) => [action, actor, assigned_to, notes])).toEqual([
    ['OPENED', null, null, ''],
    ['CHANGED', 'ann', 'bob', 'called'],
    ['CHANGED', 'ann', null, ''],
  ])
  expect(feedback()).toEqual([])
})

test('a change for another version of the case is refused, and the answer contains the current case', () => {
  const { open, change } = casesDriver()
  open()
  change({ assigned_to: { text: 'bob' }, version: 1 })
  expect(change({ assigned_to: { text: 'cat' }, version: 1 })).toMatchObject({
    outcome: 'other_version',
    found: { assigned_to: 'bob', version: 2 },
  })
})

test('feedback about a transaction without a case opens and closes a case, but feedback about an unknown transaction creates no case', () => {
  const { open, change, view, feedback } = casesDriver()
  expect(change({ verdict: 'CONFIRMED_FRAUD' })).toEqual({ outcome: 'not_found' })
  expect(change({ verdict: 'CONFIRMED_FRAUD', transaction: { ...T1, decision: 'APPROVE' } }).outcome).toBe('done')
  expect(view()).toMatchObject({
    status: 'CONFIRMED_FRAUD',
    transaction: { decision: 'APPROVE', user_id: 'u1' },
    history: [{ action: 'OPENED' }, { action: 'VERDICT' }],
  })
  expect(feedback()).toHaveLength(1)
  const before = view()
  open()
  expect(view()).toEqual(before)
})

test('a case that has been closed for 30 days is removed from the state, and a request that changes the archived case restores it', () => {
  const { driver, open, change, view, feedback, daysPass } = casesDriver()
  open()
  change({ verdict: 'CONFIRMED_FRAUD' })
  const closed = view()!
  daysPass(29)
  expect([view(), storedCase(driver, 't1')]).toEqual([closed, closed])
  daysPass(1)
  expect(driver.read(fraudCases).map(({ value }) => value)).toEqual([{ view: { ...closed, is_archived: true }, result: null }, null])
  expect(storedCase(driver, 't1')).toBeUndefined()
  feedback()

  expect(change({ notes: 'x' })).toEqual({ outcome: 'not_found' })
  const archived = JSON.stringify({ ...closed, is_archived: true })
  expect(change({ archived, assigned_to: { text: null } })).toMatchObject({ outcome: 'done', found: { case_id: closed.case_id } })
  expect([storedCase(driver, 't1'), feedback()]).toEqual([undefined, []])
  change({ archived, verdict: 'FALSE_POSITIVE', notes: 'chargeback withdrawn', transaction: T1 })
  expect(view()).toMatchObject({ case_id: closed.case_id, status: 'FALSE_POSITIVE', is_archived: false, version: closed.version + 1 })
  expect(feedback()).toMatchObject([{ verdict: 'FALSE_POSITIVE', previous_verdict: 'CONFIRMED_FRAUD', previous_at: closed.verdict_at }])
})

test('a change to an archived case is not lost if another request follows before ClickHouse has the change', () => {
  const { open, change, view, daysPass } = casesDriver()
  open()
  change({ verdict: 'CONFIRMED_FRAUD' })
  const archived = JSON.stringify({ ...view()!, is_archived: true })
  daysPass(30)
  expect(change({ archived, notes: 'the bank has called' }).outcome).toBe('done')
  // The table's sink lags behind, so ClickHouse still has the case without the notes.
  daysPass(0.9)
  expect(change({ archived, assigned_to: { text: 'bob' } })).toMatchObject({ found: { notes: 'the bank has called', version: 4 } })
  expect(view()?.history.map(({ notes }) => notes)).toEqual(['', '', 'the bank has called', ''])
  daysPass(1)
  expect(view()).toBeUndefined()
})

test('a reopened case stays in the state, and its retention starts again with the next verdict', () => {
  const { driver, open, change, daysPass } = casesDriver()
  open()
  change({ verdict: 'FALSE_POSITIVE' })
  daysPass(29)
  change({ verdict: 'SUSPICIOUS', notes: 'another one like it' })
  daysPass(40)
  expect(storedCase(driver, 't1')?.status).toBe('ESCALATED')
  change({ verdict: 'CONFIRMED_FRAUD' })
  daysPass(29)
  expect(storedCase(driver, 't1')?.status).toBe('CONFIRMED_FRAUD')
  daysPass(1)
  expect(storedCase(driver, 't1')).toBeUndefined()
})

test('the history of a case contains only the newest changes', () => {
  const { open, change, view } = casesDriver()
  open()
  for (let at = 0; at < 60; at++) change({ notes: `${at}` })
  expect(view()?.history.map(({ notes }) => notes)).toEqual(Array.from({ length: 50 }, (_, at) => `${at + 10}`))
  for (let at = 0; at < 10; at++) change({ notes: `${at}${'x'.repeat(50_000)}` })
  expect(view()?.history.map(({ notes }) => notes[0])).toEqual(['7', '8', '9'])
})

test('the id of a case contains its partition', () => {
  const partitions = Object.fromEntries([fraudReviews, fraudCases, caseFlow.commands].map(({ name }) => [name, 4]))
  const driver = testDriver(fraudCasesTopology, { startAt: NOON, partitions })
  for (let at = 0; at < 20; at++) driver.pipe(fraudReviews, `t${at}`, review({ id: `t${at}` }))
  const records = driver.read(fraudCases)
  expect(new Set(records.map(({ partition }) => partition)).size).toBe(4)
  for (const { partition, value } of records) expect(partitionOfCase(value!.view!.case_id)).toBe(partition)
})

type Step =
  | { readonly kind: 'scored'; readonly id: string }
  | {
      readonly kind: 'asked'
      readonly id: string
      readonly commandId: string
      readonly verdict: FraudVerdict | null
      readonly status: FraudCaseStatus | null
    }

const ids = fc.constantFrom('t1', 't2', 't3')
const steps = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('scored' as const), id: ids }),
    fc.record({
      kind: fc.constant('asked' as const),
      id: ids,
      commandId: fc.integer({ min: 0, max: 30 }).map(String),
      verdict: fc.option(fc.constantFrom<FraudVerdict>('CONFIRMED_FRAUD', 'FALSE_POSITIVE', 'SUSPICIOUS')),
      status: fc.option(fc.constantFrom(...STATUSES)),
    }),
  ),
  { maxLength: 40 },
)

test('despite repeated records and requests, each transaction has one case, and its history agrees with the published feedback', () => {
  fc.assert(
    fc.property(steps, (given: readonly Step[]) => {
      const { ask, driver } = decisionDriver(fraudCasesTopology, caseFlow, { startAt: NOON })
      const answers = new Map<string, unknown>()
      const caseIds = new Map<string, Set<string>>()
      const seen = new Map<string, FraudCase>()
      for (const step of given) {
        if (step.kind === 'scored') {
          driver.pipe(fraudReviews, step.id, review({ id: step.id }))
          continue
        }
        const { id, verdict, status } = step
        // A request with the same id is a repetition, so it must have the same content.
        const commandId = `${step.commandId}:${id}:${verdict}:${status}`
        const command = caseCommand({ verdict, status, notes: 'why', transaction: review({ id }) })
        const answer = ask(id, command, { id: commandId })
        if (answers.has(commandId)) expect(answer).toEqual(answers.get(commandId))
        answers.set(commandId, answer)
        if (answer.outcome !== 'not_found') caseIds.set(id, (caseIds.get(id) ?? new Set()).add(answer.found.case_id))
      }
      for (const id of ['t1', 't2', 't3']) {
        const found = storedCase(driver, id)
        if (found !== undefined) seen.set(id, found)
        expect(caseIds.get(id)?.size ?? 0).toBeLessThanOrEqual(1)
      }
      expect(new Set([...seen.values()].map(({ case_id }) => case_id)).size).toBe(seen.size)
      const published = driver.read(fraudFeedback).map(({ value }) => value!)
      for (const [id, { history, verdict }] of seen) {
        const own = published.filter(({ transaction_id }) => transaction_id === id)
        expect(own.map((one) => one.verdict)).toEqual(history.flatMap((entry) => entry.verdict ?? []))
        expect(own.at(-1)?.verdict ?? null).toBe(verdict)
        // Each correction names the previous verdict, so that profiles can subtract it.
        expect(own.map(({ previous_verdict }) => previous_verdict)).toEqual([null, ...own.map((one) => one.verdict)].slice(0, own.length))
      }
    }),
    { numRuns: 60 },
  )
})
