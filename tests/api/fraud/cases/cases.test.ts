import { expect, test } from 'vitest'
import { caseFlow } from '../../../../schemas/fraud/cases/flow.ts'
import { fraudFeedback } from '../../../../schemas/fraud/topics.ts'
import type { FraudCase } from '../../../../schemas/fraud/types.ts'
import { FRAUD_CASES_VIEW } from '../../../../state/views/fraud/cases.ts'
import { viewTag } from '../../../../state/views/view.ts'
import { START } from '../../kit/harness.ts'
import { casesApi } from './harness.ts'

const CASE_ID = /^[1-9]\d{17,18}$/
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

test('a transaction with the decision REVIEW is listed as a case, and an analyst takes and closes the case', async () => {
  const { send, reviewed } = await casesApi()
  expect((await send('GET', 'cases')).body).toEqual({ cases: [], page: 1, limit: 20, total: 0, complete: true })
  reviewed('t1')
  const opened = {
    case_id: expect.stringMatching(CASE_ID),
    transaction_id: 't1',
    user_id: 'u1',
    risk_score: 612,
    decision: 'REVIEW',
    assigned_to: null,
    status: 'OPEN',
    fraud_type: null,
    notes: '',
    created_at: new Date(START).toISOString(),
    updated_at: new Date(START).toISOString(),
    resolved_at: null,
    verdict: null,
    triggered_rules: ['r1'],
    risk_factors: [],
    amount: 10,
    currency: 'USD',
    version: 1,
  }
  const { body: list } = await send('GET', 'cases')
  expect(list).toEqual({ cases: [opened], page: 1, limit: 20, total: 1, complete: true })
  const path = `cases/${list.cases[0].case_id}`

  const taken = await send('PATCH', path, { body: { status: 'IN_REVIEW', assigned_to: 'ann', notes: 'mine' } })
  expect([taken.status, taken.body]).toEqual([200, { ...opened, status: 'IN_REVIEW', assigned_to: 'ann', notes: 'mine', version: 2 }])
  const closed = await send('PATCH', path, { body: { status: 'CONFIRMED_FRAUD', fraud_type: 'stolen_card' } })
  expect(closed.body).toMatchObject({ status: 'CONFIRMED_FRAUD', verdict: 'CONFIRMED_FRAUD', resolved_at: new Date(START).toISOString() })
  const { status, body } = await send('GET', path)
  expect([status, body.history.map(({ action, actor }: { action: string; actor: string }) => [action, actor])]).toEqual([
    200,
    [
      ['opened', null],
      ['changed', 'ann'],
      ['verdict', 'ann'],
    ],
  ])
  expect({ ...body, history: undefined }).toEqual({ ...closed.body, history: undefined })
})

test('lists can be filtered by status and analyst, and are paged, newest cases first', async () => {
  const { send, reviewed, driver } = await casesApi()
  for (let at = 0; at < 5; at++) {
    driver.advanceWallClock(1)
    reviewed(`t${at}`)
  }
  const listed = async (query: string) => {
    const { body } = await send('GET', `cases?${query}`)
    return [body.total, body.cases.map(({ transaction_id }: { transaction_id: string }) => transaction_id)]
  }
  const { body } = await send('GET', 'cases')
  await send('PATCH', `cases/${body.cases[0].case_id}`, { body: { assigned_to: 'bob' } })
  await send('PATCH', `cases/${body.cases[1].case_id}`, { body: { assigned_to: 'bob', status: 'ESCALATED' } })
  expect(await listed('limit=2')).toEqual([5, ['t4', 't3']])
  expect(await listed('limit=2&page=3')).toEqual([5, ['t0']])
  expect(await listed('limit=2&page=4')).toEqual([5, []])
  expect(await listed('status=OPEN')).toEqual([4, ['t4', 't2', 't1', 't0']])
  expect(await listed('assigned_to=bob')).toEqual([2, ['t4', 't3']])
  expect(await listed('assigned_to=bob&status=ESCALATED')).toEqual([1, ['t3']])
  expect(await listed('assigned_to=cat')).toEqual([0, []])
  expect((await send('GET', 'cases?page=101&limit=100')).body).toMatchObject({
    error: 'invalid_request',
    details: [{ path: 'query.page' }],
  })
})

test('the list reaches the 10,000th case even if the page size does not divide 10,000', async () => {
  const { send, reviewed, redis } = await casesApi()
  reviewed('t1')
  // The list also has the ids of 9,995 newer and 20 older cases. These cases themselves are not stored.
  const list = `${viewTag(FRAUD_CASES_VIEW, 0)}:status:OPEN`
  const others = Array.from({ length: 10_015 }, (_, index) => {
    const isNewer = index < 9_995
    return { score: START + (isNewer ? 1 : -1), member: isNewer ? String(9_000_000_000_000_000_000n + BigInt(index)) : String(index + 1) }
  })
  redis.apply(others.map((other) => ({ op: 'zadd', key: list, ...other })))
  const last = await send('GET', 'cases?status=OPEN&page=334&limit=30')
  expect(last).toMatchObject({ status: 200, body: { cases: [{ transaction_id: 't1' }] } })
  expect((await send('GET', 'cases?status=OPEN&page=335&limit=30')).status).toBe(400)
})

test.each([
  [{}, 'body'],
  [{ version: 1 }, 'body'],
  [{ status: 'CLOSED' }, 'body.status'],
  [{ assigned_to: '' }, 'body.assigned_to'],
  [{ fraud_type: 'x'.repeat(51) }, 'body.fraud_type'],
  [{ notes: 'x'.repeat(4_001) }, 'body.notes'],
  [{ notes: 'x', priority: 1 }, 'body'],
])('the change %o is refused because of %s', async (body, path) => {
  const { send, reviewed } = await casesApi()
  reviewed('t1')
  const { case_id } = (await send('GET', 'cases')).body.cases[0]
  expect(await send('PATCH', `cases/${case_id}`, { body })).toMatchObject({
    status: 400,
    body: { error: 'invalid_request', details: [{ path }] },
  })
})

test.each([
  [{ verdict: 'FRAUD' }, 'body.verdict'],
  [{}, 'body.verdict'],
  [{ verdict: 'SUSPICIOUS', evidence: Array(21).fill('e') }, 'body.evidence'],
  [{ verdict: 'SUSPICIOUS', evidence: ['x'.repeat(501)] }, 'body.evidence[0]'],
  [{ verdict: 'SUSPICIOUS', reporter: 'x'.repeat(201) }, 'body.reporter'],
  [{ verdict: 'SUSPICIOUS', score: 1 }, 'body'],
])('the feedback %o is refused because of %s', async (body, path) => {
  const { send } = await casesApi()
  const reply = await send('POST', 'transactions/t1/feedback', { body })
  expect(reply).toMatchObject({ status: 400, body: { error: 'invalid_request', details: [{ path }] } })
})

test('text with NUL is refused', async () => {
  const { send } = await casesApi()
  const reply = await send('POST', 'transactions/t1/feedback', { body: { verdict: 'SUSPICIOUS', notes: 'a\0b' } })
  expect(reply).toMatchObject({ status: 400, body: { error: 'invalid_encoding' } })
})

test('a forbidden transition and an outdated version get a 409 that contains the current case, and a missing note is refused', async () => {
  const { send, reviewed } = await casesApi()
  reviewed('t1')
  const { case_id } = (await send('GET', 'cases')).body.cases[0]
  const change = (body: object) => send('PATCH', `cases/${case_id}`, { body })
  await change({ status: 'FALSE_POSITIVE' })
  expect(await change({ status: 'IN_REVIEW' })).toMatchObject({
    status: 409,
    body: { error: 'case_transition', case: { status: 'FALSE_POSITIVE' } },
  })
  expect(await change({ status: 'CONFIRMED_FRAUD' })).toMatchObject({
    status: 400,
    body: { error: 'invalid_request', details: [{ path: 'body.notes' }] },
  })
  expect(await change({ notes: 'x', version: 1 })).toMatchObject({ status: 409, body: { error: 'version_conflict', case: { version: 2 } } })
  expect(await change({ status: 'CONFIRMED_FRAUD', notes: 'chargeback', version: 2 })).toMatchObject({ status: 200, body: { version: 3 } })
})

test('unknown cases and malformed ids get 404', async () => {
  const { send } = await casesApi()
  for (const id of ['x', '0', '1', '9223372036854775807', '99999999999999999999']) {
    expect(await send('GET', `cases/${id}`)).toMatchObject({ status: 404, body: { error: 'case_not_found' } })
    expect(await send('PATCH', `cases/${id}`, { body: { notes: 'x' } })).toMatchObject({ status: 404, body: { error: 'case_not_found' } })
  }
})

test.each([
  [null, 401],
  [{ sub: 'u' }, 403],
  [{ sub: 'u', scope: 'fraud:ops internal' }, 403],
  [{ sub: 'u', scope: 'fraud:analyst' }, 200],
  [{ sub: 'u', scope: 'admin' }, 200],
])('a request for the list of cases with the token %o gets %i', async (claims, status) => {
  const { send } = await casesApi()
  expect((await send('GET', 'cases', { claims })).status).toBe(status)
})

test('feedback closes the case of its transaction, and the reporter defaults to the caller', async () => {
  const { send, reviewed, driver } = await casesApi()
  reviewed('t1')
  const { case_id } = (await send('GET', 'cases')).body.cases[0]
  const body = { verdict: 'CONFIRMED_FRAUD', fraud_type: 'stolen_card', notes: 'n', evidence: ['e1'] }
  expect(await send('POST', 'transactions/t1/feedback', { body })).toEqual({
    status: 200,
    body: { status: 'recorded', case_id, version: 2 },
  })
  await send('POST', 'transactions/t1/feedback', { body: { verdict: 'FALSE_POSITIVE', notes: 'o', reporter: 'bank' } })
  expect(driver.read(fraudFeedback).map(({ value }) => value)).toMatchObject([
    { case_id, verdict: 'CONFIRMED_FRAUD', reporter: 'ann', evidence: ['e1'], notes: 'n' },
    { case_id, verdict: 'FALSE_POSITIVE', reporter: 'bank', previous_verdict: 'CONFIRMED_FRAUD', fraud_type: 'stolen_card' },
  ])
  expect((await send('GET', 'cases?status=FALSE_POSITIVE')).body.total).toBe(1)
  const { history } = (await send('GET', `cases/${case_id}`)).body
  expect(history.at(-1)).toMatchObject({ actor: 'ann', reporter: 'bank', verdict: 'FALSE_POSITIVE', notes: 'o' })
})

test('feedback that names an outdated version of the case is refused, and does not replace the newer verdict', async () => {
  const { send, reviewed } = await casesApi()
  reviewed('t1')
  const give = (body: object) => send('POST', 'transactions/t1/feedback', { body })
  const { version } = (await give({ verdict: 'FALSE_POSITIVE', version: 1 })).body
  await give({ verdict: 'CONFIRMED_FRAUD', notes: 'chargeback' })
  const undone = { verdict: 'SUSPICIOUS', notes: 'by mistake' }
  expect(await give({ ...undone, version })).toMatchObject({
    status: 409,
    body: { error: 'version_conflict', case: { verdict: 'CONFIRMED_FRAUD', version: 3 } },
  })
  expect(await give({ ...undone, version: 3 })).toMatchObject({ status: 200, body: { version: 4 } })
})

test('the id of a transaction is compared without surrounding spaces, as in scoring requests, and may contain a slash', async () => {
  const { send, transaction, driver } = await casesApi()
  transaction('a/b')
  expect((await send('POST', 'transactions/%20a%2Fb%20/feedback', { body: { verdict: 'SUSPICIOUS' } })).status).toBe(200)
  expect(driver.read(fraudFeedback).map(({ key }) => key)).toEqual(['a/b'])
})

test('feedback about a transaction without a case opens and closes a case', async () => {
  const { send, transaction, driver } = await casesApi()
  transaction('t1')
  const { status, body } = await send('POST', 'transactions/t1/feedback', { body: { verdict: 'CONFIRMED_FRAUD' } })
  expect([status, body]).toEqual([200, { status: 'recorded', case_id: expect.stringMatching(CASE_ID), version: 2 }])
  expect((await send('GET', `cases/${body.case_id}`)).body).toMatchObject({
    decision: 'APPROVE',
    risk_score: 12,
    status: 'CONFIRMED_FRAUD',
  })
  expect(driver.read(fraudFeedback).map(({ value }) => value)).toMatchObject([{ user_id: 'u1', device: 'd1', case_id: body.case_id }])
})

test('feedback waits up to two seconds for a transaction whose event has not arrived yet', async () => {
  const { send, transaction, clock } = await casesApi()
  const ask = () => send('POST', 'transactions/t1/feedback', { body: { verdict: 'SUSPICIOUS' } })
  expect(await ask()).toMatchObject({ status: 404, body: { error: 'transaction_not_found' } })
  expect(clock.waited).toBe(2_000)
  clock.onPause = () => clock.waited >= 3_000 && transaction('t1')
  expect((await ask()).status).toBe(200)
  expect(clock.waited).toBe(3_400)
})

test('without ClickHouse, feedback about an unknown transaction gets 503, and feedback about a case is recorded', async () => {
  const { send, reviewed, tables } = await casesApi()
  reviewed('t1')
  tables.down = true
  const ask = (id: string) => send('POST', `transactions/${id}/feedback`, { body: { verdict: 'SUSPICIOUS' } })
  expect(await ask('t2')).toMatchObject({ status: 503, body: { error: 'unavailable' } })
  expect((await ask('t1')).status).toBe(200)
  const { status, body } = await send('GET', 'cases')
  expect([status, body.total, body.complete]).toEqual([200, 1, false])
  expect((await send('GET', 'cases?status=OPEN')).body).toMatchObject({ complete: true })
  expect((await send('GET', 'cases?status=ESCALATED')).body).toMatchObject({ total: 1, complete: true })
  expect((await send('GET', 'cases?status=FALSE_POSITIVE')).body).toMatchObject({ total: 0, complete: false })
})

test('repeated feedback gets the first answer and is published once', async () => {
  const { send, transaction, driver } = await casesApi()
  transaction('t1')
  const body = { verdict: 'CONFIRMED_FRAUD' }
  const first = await send('POST', 'transactions/t1/feedback', { body, key: 'k' })
  expect(await send('POST', 'transactions/t1/feedback', { body, key: 'k' })).toEqual(first)
  expect(driver.read(fraudFeedback)).toHaveLength(1)
  const other = await send('POST', 'transactions/t1/feedback', { body: { verdict: 'SUSPICIOUS' }, key: 'k' })
  expect(other).toMatchObject({ status: 409, body: { error: 'idempotency_conflict' } })
})

test('repeated feedback gets the first answer, even if neither the view nor ClickHouse can be read', async () => {
  const { send, transaction, tables, redis } = await casesApi()
  transaction('t1')
  const ask = () => send('POST', 'transactions/t1/feedback', { body: { verdict: 'CONFIRMED_FRAUD' }, key: 'k' })
  const first = await ask()
  expect(first.status).toBe(200)
  redis.apply([{ op: 'del', key: `${viewTag(FRAUD_CASES_VIEW, 0)}:caught-up` }])
  tables.down = true
  expect(await ask()).toEqual(first)
})

/** Closes a case, adds it to the archive, and waits until the topology's state no longer contains it. */
async function archivedCase(options: Parameters<typeof casesApi>[0] = {}) {
  const api = await casesApi(options)
  const { send, reviewed, transaction, daysPass, tables, driver } = api
  reviewed('t1')
  transaction('t1')
  const { case_id } = (await send('POST', 'transactions/t1/feedback', { body: { verdict: 'CONFIRMED_FRAUD' } })).body
  const whole = driver.store('cases') as unknown as { get(key: string): FraudCase }
  tables.archived.push({ ...whole.get('t1'), is_archived: true })
  driver.read(fraudFeedback)
  daysPass(30)
  return { ...api, case_id }
}

test('a list is marked as incomplete if the rows of archived cases cannot be read', async () => {
  const { send, tables } = await archivedCase()
  expect((await send('GET', 'cases')).body).toMatchObject({ cases: [{ transaction_id: 't1' }], complete: true })
  tables.rowsDown = true
  expect((await send('GET', 'cases')).body).toMatchObject({ cases: [], complete: false })
})

test('a case that was closed 30 days ago is read from ClickHouse', async () => {
  const { send, case_id, reviewed, tables } = await archivedCase()
  expect((await send('GET', `cases/${case_id}`)).body).toMatchObject({ case_id, status: 'CONFIRMED_FRAUD', history: [{}, {}] })
  reviewed('t2')
  const transactions = async (query: string) =>
    (await send('GET', `cases?${query}`)).body.cases.map(({ transaction_id }: { transaction_id: string }) => transaction_id)
  expect(await transactions('')).toEqual(['t2', 't1'])
  expect(await transactions('status=CONFIRMED_FRAUD')).toEqual(['t1'])
  await send('POST', 'transactions/t2/feedback', { body: { verdict: 'CONFIRMED_FRAUD' } })
  expect(await transactions('status=CONFIRMED_FRAUD')).toEqual(['t2', 't1'])
  expect(await transactions('status=CONFIRMED_FRAUD&limit=1&page=2')).toEqual(['t1'])
  expect(await transactions('status=OPEN')).toEqual([])
  tables.down = true
  expect(await send('GET', `cases/${case_id}`)).toMatchObject({ status: 503, body: { error: 'unavailable' } })
})

test.each(['feedback', 'change'] as const)('a late %s brings an archived case back and creates no second case', async (way) => {
  const { send, case_id, driver } = await archivedCase()
  const answer =
    way === 'feedback'
      ? await send('POST', 'transactions/t1/feedback', { body: { verdict: 'FALSE_POSITIVE', notes: 'chargeback withdrawn' } })
      : await send('PATCH', `cases/${case_id}`, { body: { status: 'FALSE_POSITIVE', notes: 'chargeback withdrawn' } })
  expect(answer).toMatchObject({ status: 200, body: { case_id } })
  const { body } = await send('GET', 'cases')
  expect(body.cases).toMatchObject([{ case_id, status: 'FALSE_POSITIVE' }])
  expect(driver.read(fraudFeedback).map(({ value }) => value)).toMatchObject([
    { case_id, verdict: 'FALSE_POSITIVE', previous_verdict: 'CONFIRMED_FRAUD', previous_at: START },
  ])
})

test('feedback about a case that is archived between the lookup by the API and the decision brings the case back', async () => {
  const { send, case_id, redis } = await archivedCase()
  // The view still shows the case for a moment after the topology has deleted it from its state.
  const place = { case_id, status: 'CONFIRMED_FRAUD', assigned_to: null }
  redis.apply([{ op: 'set', key: `{${caseFlow.name}:0}:txn:t1`, value: JSON.stringify(place) }])
  const answer = await send('POST', 'transactions/t1/feedback', { body: { verdict: 'FALSE_POSITIVE', notes: 'n' } })
  expect(answer).toEqual({ status: 200, body: { status: 'recorded', case_id, version: 3 } })
})

test('a change of a case that is archived between the lookup by the API and the decision brings the case back', async () => {
  const { send, case_id, redis, tables } = await archivedCase()
  // The view still shows the case for a moment after the topology has deleted it from its state.
  redis.apply([{ op: 'set', key: `{${caseFlow.name}:0}:case:${case_id}`, value: JSON.stringify(tables.archived[0]) }])
  const answer = await send('PATCH', `cases/${case_id}`, { body: { status: 'FALSE_POSITIVE', notes: 'n' } })
  expect(answer).toMatchObject({ status: 200, body: { case_id, status: 'FALSE_POSITIVE' } })
})

test('a change of an archived case does not change the case of a later payment with the same id', async () => {
  const { send, case_id, reviewed, driver } = await archivedCase()
  reviewed('t1')
  const later = (await send('GET', 'cases?status=OPEN')).body.cases[0]
  const answer = await send('PATCH', `cases/${case_id}`, { body: { status: 'FALSE_POSITIVE', notes: 'n' } })
  expect(answer).toMatchObject({ status: 409, body: { error: 'case_transition', case: { case_id, status: 'CONFIRMED_FRAUD' } } })
  expect((await send('GET', `cases/${later.case_id}`)).body).toMatchObject(later)
  expect(driver.read(fraudFeedback)).toEqual([])
})

test('a change of an archived case that the view still shows does not change the case of a later payment with the same id', async () => {
  const { send, case_id, reviewed, redis, tables, driver } = await archivedCase()
  reviewed('t1')
  redis.apply([{ op: 'set', key: `{${caseFlow.name}:0}:case:${case_id}`, value: JSON.stringify(tables.archived[0]) }])
  const answer = await send('PATCH', `cases/${case_id}`, { body: { status: 'FALSE_POSITIVE', notes: 'n' } })
  expect(answer).toMatchObject({ status: 409, body: { error: 'case_transition', case: { case_id, status: 'CONFIRMED_FRAUD' } } })
  expect(driver.read(fraudFeedback)).toEqual([])
})

test('feedback about a later payment with the same id does not change the archived case of the earlier payment', async () => {
  const { send, case_id, transaction, daysPass, driver } = await archivedCase()
  daysPass(70)
  transaction('t1', START + 95 * DAY_MS)
  daysPass(30)
  const answer = await send('POST', 'transactions/t1/feedback', { body: { verdict: 'FALSE_POSITIVE', notes: 'n' } })
  expect(answer).toMatchObject({ status: 200, body: { case_id: expect.not.stringContaining(case_id) } })
  expect(driver.read(fraudFeedback).map(({ value }) => value)).toMatchObject([{ verdict: 'FALSE_POSITIVE', previous_verdict: null }])
})

test.each([
  [2, 1, 'opens a separate case'],
  [100, 168, 'changes the archived case'],
])(
  'a payment is scored %i h after an earlier one with the same id, and answers are kept for %i h: feedback about it %s',
  async (later, kept, effect) => {
    const { send, case_id, transaction, daysPass } = await archivedCase({ answersKeptMs: kept * HOUR_MS })
    transaction('t1', START + later * HOUR_MS)
    daysPass(30)
    const { body } = await send('POST', 'transactions/t1/feedback', { body: { verdict: 'FALSE_POSITIVE', notes: 'n' } })
    expect(body.case_id === case_id).toBe(effect === 'changes the archived case')
  },
)

test('while the view is being built, requests about cases get not_ready', async () => {
  const { send, redis } = await casesApi()
  redis.flush()
  for (const path of ['cases', `cases/${1n << 41n}`])
    expect(await send('GET', path)).toMatchObject({ status: 503, body: { error: 'not_ready' } })
  const reply = await send('POST', 'transactions/t1/feedback', { body: { verdict: 'SUSPICIOUS' } })
  expect(reply).toMatchObject({ status: 503, body: { error: 'not_ready' } })
})

test('while the view is being built, feedback about a known transaction is recorded in its case', async () => {
  const { send, reviewed, transaction, redis } = await casesApi()
  for (const id of ['t1', 't2']) transaction(id)
  reviewed('t1')
  const { case_id } = (await send('GET', 'cases')).body.cases[0]
  redis.flush()
  const ask = (id: string) => send('POST', `transactions/${id}/feedback`, { body: { verdict: 'SUSPICIOUS' } })
  expect(await ask('t1')).toEqual({ status: 200, body: { status: 'recorded', case_id, version: 2 } })
  const { status, body } = await ask('t2')
  expect([status, body.case_id]).toEqual([200, expect.not.stringContaining(case_id)])
})

test('feedback about a transaction that is younger than a month does not look for an archived case', async () => {
  const { send, transaction, tables } = await casesApi()
  transaction('young', START - 28 * DAY_MS)
  tables.archived.push({ transaction: { transaction_id: 'young' } } as FraudCase)
  const { status } = await send('POST', 'transactions/young/feedback', { body: { verdict: 'SUSPICIOUS' } })
  expect(status).toBe(200)
})
