import { expect, test } from 'vitest'
import { memoryTransport } from '../../../../kafka/memory/transport.ts'
import { FencedError, TransportError } from '../../../../kafka/transport.ts'
import { readDeadLetters } from '../../../../pipelines/engine/dlq/read.ts'
import { replayDeadLetters } from '../../../../pipelines/engine/dlq/replay.ts'
import type { OnError, TopologyBuilder } from '../../../../pipelines/engine/topology/api.ts'
import { topology } from '../../../../pipelines/engine/topology/topology.ts'
import type { TopologyOptions } from '../../../../pipelines/engine/topology/topology-options.ts'
import type { Worker } from '../../../../pipelines/engine/worker/worker.ts'
import { workerRunner } from '../../../../pipelines/engine/worker/worker-runner.ts'
import { utf8 } from '../../../../schemas/keys.ts'
import { keyedStore } from '../../../../state/stores/keyed-store.ts'
import { type Bench, bench, until } from '../harness.ts'
import { numberFormat, numberTopic, textTopic } from '../words.ts'

const orders = numberTopic('orders', 2)
const totals = numberTopic('totals', 2)
const receipts = textTopic('receipts', 1)
const BUG = 99
const TOO_LARGE = 98
const ROW_TOO_LARGE = 97
const SKIPPING: OnError = { process: 'dead-letter', produce: 'dead-letter' }

/**
 * Creates a topology that adds up numbers per key in two stages. On some numbers, the first stage fails after it has
 * changed state and emitted records.
 * @param bug the number on which the first stage throws
 */
function adding(onError: OnError = SKIPPING, bug = BUG, options: TopologyOptions = {}) {
  const build = (t: TopologyBuilder) => {
    const byKey = t.repartition('by-key', { key: utf8, value: numberFormat, partitions: 2 })
    const seen = keyedStore('seen', { key: utf8, value: numberFormat })
    const notes = keyedStore('notes', { key: utf8, value: receipts.value })
    t.source(orders, { onError }).process('take', { stores: [seen, notes], emits: [byKey, receipts] }, (value, ctx) => {
      seen.put(ctx.key, (seen.get(ctx.key) ?? 0) + 1)
      ctx.emit(byKey, ctx.key, value)
      if (value === bug) throw new Error('a bug')
      if (value === TOO_LARGE) ctx.emit(receipts, ctx.key, 'x'.repeat(1_100_000))
      if (value === ROW_TOO_LARGE) notes.put(ctx.key, 'x'.repeat(4_200_000))
    })
    const sums = keyedStore('sums', { key: utf8, value: numberFormat })
    t.source(byKey).process('add', { stores: [sums], emits: [totals] }, (value, ctx) => {
      const sum = (sums.get(ctx.key) ?? 0) + value
      sums.put(ctx.key, sum)
      ctx.emit(totals, ctx.key, sum)
    })
  }
  return topology('adding', build, options)
}

/**
 * Sends the values to each of the keys `a` to `e`, and waits until every key has its last total.
 * @param before total of each key before the values are sent
 */
async function sendToAll(b: Bench, values: readonly number[], before = 0): Promise<void> {
  const keys = ['a', 'b', 'c', 'd', 'e']
  for (const value of values) for (const key of keys) b.send(orders, key, value)
  const total = before + values.filter((value) => value < ROW_TOO_LARGE).reduce((sum, value) => sum + value, 0)
  await until(() => keys.every((key) => b.latest(totals).get(key) === total), `totals of ${total}`)
}

const lettersOf = (b: Bench) => readDeadLetters(memoryTransport(b.broker), 'adding')
const skippedOf = (worker: Worker) => worker.status().metrics.skipped

test.each(['exactly-once', 'at-least-once'] as const)('a worker skips failing records without a rebalance: %s', async (guarantee) => {
  const b = bench()
  const worker = await b.worker(adding(), { guarantee })
  await sendToAll(b, [1, BUG, 2, TOO_LARGE, TOO_LARGE, BUG, 3])
  expect(b.all(totals).filter(({ key }) => key === 'a')).toMatchObject([{ value: 1 }, { value: 3 }, { value: 6 }])
  expect(b.all(receipts)).toEqual([])
  const letters = await lettersOf(b)
  expect(letters).toHaveLength(20)
  expect(new Set(letters.map(({ source }) => `${source.partition} ${source.offset}`)).size).toBe(20)
  expect(letters.filter(({ code, value }) => code === 'process_failed' && String(value) === '99')).toHaveLength(10)
  expect(letters.filter(({ code, value }) => code === 'produce_failed' && String(value) === '98')).toHaveLength(10)
  expect(skippedOf(worker)).toEqual([
    { source: 'orders', stage: 'process', handling: 'dead-letter', count: 10 },
    { source: 'orders', stage: 'produce', handling: 'dead-letter', count: 10 },
  ])
  expect(worker.status()).toMatchObject({ state: 'running', fences: 0, restarts: 20 })
  await worker.stop()
  expect(worker.status().state).toBe('stopped')
})

test.each(['exactly-once', 'at-least-once'] as const)(
  'a worker skips records whose changed rows cannot be written: %s',
  async (guarantee) => {
    const b = bench()
    const worker = await b.worker(adding(), { guarantee })
    await sendToAll(b, [1, ROW_TOO_LARGE, 2, 3])
    const letters = await lettersOf(b)
    expect(letters.map(({ code, processor, value }) => [code, processor, String(value)])).toEqual(
      Array(5).fill(['produce_failed', 'take', String(ROW_TOO_LARGE)]),
    )
    expect(letters[0].message).toContain(
      'a row of the store notes cannot be written: topic adding-notes-changelog accepts batches of up to 4194304 bytes',
    )
    expect(skippedOf(worker)).toEqual([{ source: 'orders', stage: 'produce', handling: 'dead-letter', count: 5 }])
    expect(worker.status().state).toBe('running')
    await worker.stop()
  },
)

/** Options of a worker whose records remain uncommitted until it gives up partitions or stops. */
const UNCOMMITTED = { commitIntervalMs: 60_000 }

/** Starts a worker that has processed, but not committed, records whose rows cannot be written. */
async function workerWithUnwritableRow(b: Bench): Promise<Worker> {
  const worker = await b.worker(adding(SKIPPING, BUG, { commitWhenIdle: false }), UNCOMMITTED)
  for (const value of [1, ROW_TOO_LARGE, 2]) for (const key of ['a', 'b', 'c', 'd', 'e']) b.send(orders, key, value)
  await until(() => worker.status().metrics.processed === 15, 'the records are processed')
  return worker
}

test('a worker gives up partitions although a row of the last records cannot be written', async () => {
  const b = bench()
  await workerWithUnwritableRow(b)
  const second = await b.worker(adding())
  const ready = () => second.status().ready && second.status().tasks.length > 0
  await until(ready, 'the second worker has its partitions', 10_000)
})

test('a worker stops cleanly although a row of the last records cannot be written', async () => {
  const b = bench()
  const first = await workerWithUnwritableRow(b)
  await first.stop()
  expect(first.status().state).toBe('stopped')
  await b.worker(adding())
  await until(() => ['a', 'b', 'c', 'd', 'e'].every((key) => b.latest(totals).get(key) === 3), 'totals')
  expect(await lettersOf(b)).toHaveLength(5)
})

test('the metrics count skipped records by source, stage and handling', async () => {
  const b = bench()
  const worker = await b.worker(adding({ process: 'drop' }))
  await sendToAll(b, [1, BUG])
  await until(() => (skippedOf(worker)[0]?.count ?? 0) === 5, 'all failing records are skipped')
  const samples = [...workerRunner(worker).samples()].filter(({ name }) => name === 'records_skipped_total')
  expect(samples.map(({ labels, value }) => [labels, value])).toEqual([
    [{ topology: 'adding', source: 'orders', stage: 'process', handling: 'drop' }, 5],
  ])
  expect(await lettersOf(b)).toEqual([])
})

test.each(['succeeds', 'fails', 'is fenced'])(
  'a record that fails while a commit is in flight is skipped exactly once: the commit %s',
  async (how) => {
    const b = bench()
    const worker = await b.worker(adding())
    await sendToAll(b, [1])
    const gate = Promise.withResolvers<void>()
    gate.promise.catch(() => {})
    b.broker.commitGate = gate.promise
    b.send(orders, 'a', 2)
    await until(() => b.broker.waitingCommits > 0, 'a commit is in flight')
    b.send(orders, 'a', BUG)
    b.send(orders, 'a', 3)
    const { processed } = worker.status().metrics
    await until(() => worker.status().metrics.processed > processed, 'the record after the failing record is processed')
    b.broker.commitGate = undefined
    if (how === 'succeeds') gate.resolve()
    else gate.reject(how === 'fails' ? new TransportError('REQUEST_TIMED_OUT', 'timed out', { fatal: false }) : new FencedError('fenced'))
    await until(() => b.latest(totals).get('a') === 6, 'the rest')
    expect((await lettersOf(b)).map(({ code }) => code)).toEqual(['process_failed'])
    expect(b.all(totals).filter(({ key }) => key === 'a')).toMatchObject([{ value: 1 }, { value: 3 }, { value: 6 }])
  },
)

test('each failing record is skipped once, even after a second worker has joined and the first one has stopped', async () => {
  const b = bench()
  const first = await b.worker(adding())
  await sendToAll(b, [1, BUG, 2])
  await b.worker(adding())
  await sendToAll(b, [BUG, 3], 3)
  await first.stop()
  await sendToAll(b, [BUG, 4], 6)
  expect(await lettersOf(b)).toHaveLength(15)
})

test('skipped records can be replayed after the bug is fixed', async () => {
  const b = bench()
  const first = await b.worker(adding())
  await sendToAll(b, [1, BUG, 2])
  await first.stop()
  await b.worker(adding(SKIPPING, -1))
  const result = await replayDeadLetters(memoryTransport(b.broker), 'adding', { code: 'process_failed' })
  expect(result).toMatchObject({ replayed: 5, skippedCut: 0 })
  await until(() => b.latest(totals).get('e') === 102, 'the replayed records')
  expect(await replayDeadLetters(memoryTransport(b.broker), 'adding')).toMatchObject({ replayed: 0, skippedReplayed: 5 })
})

test('failing records do not prevent a long-running time handler of another task from finishing', async () => {
  const b = bench()
  const STEPS = 40
  const timed = topology('timed', (t) => {
    const ticks = t.repartition('ticks', { key: utf8, value: numberFormat, partitions: 1 })
    t.source(numberTopic('beats', 1))
      .process('beat', { emits: [ticks] }, (value, ctx) => ctx.emit(ticks, ctx.key, value))
      .markTime({ everyMs: 20, delayMs: 0, to: ticks })
    t.source(ticks)
      .process('count', {}, () => {})
      .onTime('close', { emits: [totals] }, function* close(time, ctx) {
        for (let step = 0; step < STEPS; step++) yield
        ctx.emit(totals, 'closed', time)
      })
    t.source(orders, { onError: { process: 'drop' } }).process('fail', {}, () => {
      throw new Error('a bug')
    })
  })
  const worker = await b.worker(timed)
  for (let i = 0; i < 100; i++) b.send(orders, `k${i}`, BUG)
  await until(() => b.all(totals).length >= 3 && skippedOf(worker)[0]?.count >= 100, 'both tasks continue')
  expect(worker.status().state).toBe('running')
})
