import { expect, test } from 'vitest'
import { modelBatches } from '../../../../api/fraud/models/batches.ts'
import { circuit } from '../../../../api/fraud/models/circuit.ts'
import type { ActiveModels } from '../../../../api/fraud/models/loading.ts'
import { decodeScoreRequest, encodeScores, type RowScores } from '../../../../api/fraud/models/wire.ts'
import { manualRuntime } from '../../../../runtime/manual.ts'
import { DEFAULT_POLICY } from '../../../../schemas/fraud/decision/policy.ts'
import { isChallengersShare } from '../../../../schemas/fraud/models/share.ts'
import { fakeChild } from '../../kit/child/fake-child.ts'
import { inputOf } from './input.ts'

const PING = 9
const versions = { account_takeover: '1', payment_fraud: '1', money_laundering: '1' }
const scores = { account_takeover: 0.25, payment_fraud: 0.5, money_laundering: 0.75 }
const factors = [{ factor: 'txn.amount_usd', contribution: 0.25 }]

function world(models: Partial<ActiveModels> = {}) {
  const runtime = manualRuntime()
  const child = fakeChild()
  const counted: Record<string, number> = {}
  let isUp = true
  const late = circuit({ ping: () => child.request(PING, Buffer.alloc(0)), limitMs: 30, timers: runtime })
  const active = { versions, champion: [0, 1, 2], challenger: undefined, policy: DEFAULT_POLICY, ...models }
  const score = modelBatches({
    current: () => (isUp ? { child, models: active } : undefined),
    circuit: late,
    telemetry: {
      restarted() {},
      refused() {},
      answered() {},
      unscored(why, rows) {
        counted[why] = (counted[why] ?? 0) + rows
      },
    },
    timers: { ...runtime, afterTurn: (callback) => void runtime.nextTurn().then(callback) },
  })
  const turn = async () => {
    await runtime.nextTurn()
    await runtime.nextTurn()
  }
  const goDown = () => {
    isUp = false
  }
  return { runtime, child, counted, late, score, turn, goDown }
}

const answerOf = (rows: number, row: Partial<RowScores> = {}) =>
  encodeScores(Array.from({ length: rows }, () => ({ champion: scores, challenger: undefined, factors: [], ...row })))

test('all calls in one turn of the event loop share a batch, and each gets its own answer', async () => {
  const { child, score, turn } = world()
  const calls = [inputOf({ amount: 1 }), inputOf({ amount: 2 })].map(score)
  await turn()
  expect(child.requests).toHaveLength(1)
  const { isChallengers, champion, challenger } = decodeScoreRequest(child.requests[0].body)
  expect([isChallengers, champion, challenger]).toEqual([[false, false], [0, 1, 2], undefined])
  const rows = [
    { champion: scores, challenger: undefined, factors },
    { champion: { ...scores, payment_fraud: 1 }, challenger: undefined, factors: [] },
  ]
  child.requests[0].answer(encodeScores(rows))
  expect(await Promise.all(calls)).toEqual(
    rows.map(({ champion: given, ...row }) => ({ ...row, scores: given, versions, policy: DEFAULT_POLICY })),
  )
})

test('the challenger scores its share of the transactions, and each score belongs to the right transaction', async () => {
  const { child, score, turn } = world({ challenger: [0, 3, 2] })
  const ids = Array.from({ length: 60 }, (_, index) => `t${index}`)
  const calls = ids.map((id) => score(inputOf({ id })))
  await turn()
  const request = decodeScoreRequest(child.requests[0].body)
  expect([request.challenger, request.isChallengers]).toEqual([[0, 3, 2], ids.map(isChallengersShare)])
  expect(request.isChallengers).toContain(true)
  const rows = ids.map((_, index) => ({
    champion: { ...scores, payment_fraud: index / 64 },
    challenger: { ...scores, payment_fraud: index / 128 },
    factors: [],
  }))
  child.requests[0].answer(encodeScores(rows))
  const found = await Promise.all(calls)
  expect(found.map((one) => [one?.scores, one?.challenger])).toEqual(rows.map(({ champion, challenger }) => [champion, challenger]))
})

test('a call gets no score after 30 ms, even if the answer arrives later', async () => {
  const { runtime, child, counted, score, turn } = world()
  const call = score(inputOf())
  await turn()
  runtime.advance(30)
  expect(await call).toBeUndefined()
  child.requests[0].answer(answerOf(1))
  await turn()
  expect(counted).toEqual({ late: 1 })
})

test('three late batches open the circuit, and a timely answer to a ping closes it', async () => {
  const { runtime, child, counted, late, score, turn } = world()
  for (let batch = 0; batch < 3; batch++) {
    const call = score(inputOf())
    await turn()
    runtime.advance(30)
    expect(await call).toBeUndefined()
  }
  expect(late.isOpen).toBe(true)
  expect(await score(inputOf())).toBeUndefined()
  expect(counted).toEqual({ late: 3, circuit_open: 1 })
  const pings = () => child.requests.filter(({ kind }) => kind === PING)
  expect(pings()).toHaveLength(1)
  runtime.advance(500)
  pings()[0].answer()
  await turn()
  expect(late.isOpen).toBe(true)
  runtime.advance(100)
  pings()[1].answer()
  await turn()
  expect(late.isOpen).toBe(false)
  const call = score(inputOf())
  await turn()
  child.requests.at(-1)!.answer(answerOf(1))
  expect((await call)?.scores).toEqual(scores)
})

test('if the process ends, the calls in the unanswered batch end at once without a score', async () => {
  const { child, counted, score, turn, goDown } = world()
  const call = score(inputOf())
  await turn()
  child.crash()
  expect(await call).toBeUndefined()
  goDown()
  expect(await score(inputOf())).toBeUndefined()
  expect(counted).toEqual({ away: 2 })
})

test('if the process ends after a batch was late, the transactions of the batch are counted only as late', async () => {
  const { runtime, child, counted, score, turn } = world()
  const call = score(inputOf())
  await turn()
  runtime.advance(30)
  expect(await call).toBeUndefined()
  child.crash()
  await turn()
  expect(counted).toEqual({ late: 1 })
})

test('while 512 transactions are unanswered, a further transaction is refused', async () => {
  const { counted, child, score, turn } = world()
  const calls = Array.from({ length: 513 }, () => score(inputOf()))
  expect(await calls[512]).toBeUndefined()
  await turn()
  expect(decodeScoreRequest(child.requests[0].body).isChallengers).toHaveLength(512)
  expect(counted).toEqual({ too_many: 1 })
  child.requests[0].answer(answerOf(512))
  expect((await calls[0])?.scores).toEqual(scores)
})

test('an answer that cannot be decoded gives no score, and the process that sent it is replaced', async () => {
  const { child, counted, score, turn } = world()
  const calls = [inputOf(), inputOf()].map(score)
  await turn()
  child.requests[0].answer(answerOf(1))
  expect(await Promise.all(calls)).toEqual([undefined, undefined])
  expect(counted).toEqual({ away: 2 })
  expect(child.isKilled).toBe(true)
})
