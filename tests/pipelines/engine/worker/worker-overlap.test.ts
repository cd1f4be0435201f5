import { expect, onTestFinished, test } from 'vitest'
import { TransportError } from '../../../../kafka/transport.ts'
import { topology } from '../../../../pipelines/engine/topology/topology.ts'
import { utf8 } from '../../../../schemas/keys.ts'
import { keyedStore } from '../../../../state/stores/keyed-store.ts'
import { memoryBackend } from '../../../../state/stores/memory-backend.ts'
import { type Bench, bench, until } from '../harness.ts'
import { numberFormat, numberTopic, textTopic } from '../words.ts'

const words = textTopic('one-word', 1)
const totals = numberTopic('totals-out', 1)

/** A topology with a single stage that counts words. */
const counting = topology('counting', (t) => {
  const store = keyedStore('totals', { key: utf8, value: numberFormat })
  t.source(words).process('count', { reads: (word) => store.prefetch(word), stores: [store], emits: [totals] }, function count(word, ctx) {
    if (word === 'bug') throw new Error('cannot count it')
    const total = (store.get(word) ?? 0) + 1
    store.put(word, total)
    ctx.emit(totals, word, total)
  })
})

/** Starts a worker whose commit of the first word is in flight until `release`, `releaseOne` or `fail` is called. */
async function overlapped({ broker, worker, send }: Bench, options: { guarantee?: 'at-least-once' } = {}) {
  const gate = Promise.withResolvers<void>()
  gate.promise.catch(() => {}) // Prevents an unhandled rejection. The commit itself handles the error.
  const backend = memoryBackend()
  let encoded = 0
  let written = 0
  const counted = await worker(counting, {
    ...options,
    backend,
    fault(step) {
      if (step === 'encoded') encoded++
      if (step === 'written') written++
    },
  })
  // Releases the commit before the worker is stopped, because a stopping worker waits for its commit.
  onTestFinished(() => gate.resolve())
  await until(() => counted.status().ready, 'the worker is ready')
  broker.commitGate = gate.promise
  send(words, 'k', 'a')
  await until(() => encoded === 1, 'the first commit is in flight')
  const stored = (word: string) => {
    const key = Buffer.from(word)
    return backend
      .session('counting')
      .column('totals', 0)
      .multiGet({ bytes: key, ends: [key.length] })[0]
      ?.toString()
  }
  return {
    counted,
    stored,
    written: () => written,
    async process(word: string) {
      const before = counted.status().metrics.processed
      send(words, 'k', word)
      await until(() => counted.status().metrics.processed > before, `${word} is processed`)
    },
    release() {
      broker.commitGate = undefined
      gate.resolve()
    },
    fail(error: Error) {
      broker.commitGate = undefined
      gate.reject(error)
    },
    /** Lets the commit in flight succeed. The next commit then waits in the same way. */
    releaseOne() {
      broker.commitGate = new Promise<void>((resolve) => onTestFinished(() => resolve()))
      gate.resolve()
    },
  }
}

test.each([undefined, 'at-least-once'] as const)(
  'records that are processed during a commit belong to the next commit (guarantee: %s)',
  async (guarantee) => {
    const tools = bench()
    const { process, release, written } = await overlapped(tools, { guarantee })
    await process('a')
    await process('b')
    expect(tools.all(totals)).toEqual([])
    expect(written()).toBe(0)
    release()
    await until(() => tools.all(totals).length === 3, 'both commits are done')
    expect(tools.all(totals).map(({ key, value }) => [key, value])).toEqual([
      ['a', 1],
      ['a', 2],
      ['b', 1],
    ])
  },
)

test('a commit writes only the state that belongs to it', async () => {
  const tools = bench()
  const { process, releaseOne, stored, written } = await overlapped(tools)
  await process('a')
  await process('b')
  releaseOne()
  await until(() => written() === 1, 'the first commit is written')
  expect(tools.all(totals).map(({ value }) => value)).toEqual([1])
  expect([stored('a'), stored('b')]).toEqual(['1', undefined])
})

test('if a commit fails, the work done in the meantime is also discarded, and all of this work is repeated', async () => {
  const tools = bench()
  const { process, fail, counted } = await overlapped(tools)
  await process('a')
  fail(new TransportError('REQUEST_TIMED_OUT', 'the brokers are unreachable', { fatal: false }))
  await until(() => tools.all(totals).length === 2, 'both words are counted')
  expect(tools.all(totals).map(({ value }) => value)).toEqual([1, 2])
  expect(counted.status().restarts).toBe(1)
})

test('a worker that stops finishes the commit in flight, and then commits the remaining work', async () => {
  const tools = bench()
  const { process, release, counted, stored } = await overlapped(tools)
  await process('b')
  const stopped = counted.stop()
  release()
  await stopped
  expect(tools.all(totals).map(({ key, value }) => [key, value])).toEqual([
    ['a', 1],
    ['b', 1],
  ])
  expect([stored('a'), stored('b')]).toEqual(['1', '1'])
})

test('a bug in later records does not undo the commit in flight', async () => {
  const tools = bench()
  const { release, counted, stored } = await overlapped(tools)
  tools.send(words, 'k', 'bug')
  await until(() => counted.status().state === 'failed', 'the worker has failed')
  release()
  await expect(counted.done).rejects.toThrow('cannot count it')
  expect(tools.all(totals).map(({ value }) => value)).toEqual([1])
  expect(stored('a')).toBe('1')
})
