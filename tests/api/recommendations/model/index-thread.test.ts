import { EventEmitter } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import type { SearchOutcome, SearchQuery } from '../../../../api/recommendations/model/index-messages.ts'
import { answerQuery } from '../../../../api/recommendations/model/index-queries.ts'
import { indexThreads, MOST_UNANSWERED } from '../../../../api/recommendations/model/index-thread.ts'
import { openModel } from '../../../../api/recommendations/model/open.ts'
import { START } from '../../kit/harness.ts'
import { writeBundle } from './bundle.ts'

const folder = mkdtempSync(join(tmpdir(), 'millrace-index-thread-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const ITEMS = 60
const AXES = new Map(Array.from({ length: ITEMS }, (_, index) => [BigInt(index + 1), index % 3]))
const TIMEOUT_MS = 250
/** How long a thread may take to open an index. */
const OPENING_MS = 60_000
const VECTOR = Float32Array.of(1, 0)
const ROOTS = new Float32Array(new SharedArrayBuffer(8)).fill(1)

/** A thread that only does what a test makes it do. */
class FakeThread extends EventEmitter {
  readonly batches: (readonly SearchQuery[])[] = []
  isTerminated = false
  postMessage(queries: readonly SearchQuery[]): void {
    this.batches.push(queries)
  }
  async terminate(): Promise<number> {
    this.isTerminated = true
    this.emit('exit', 1)
    return 1
  }
  open(): void {
    this.emit('message', { size: 2 })
  }
  answer(...outcomes: readonly SearchOutcome[]): void {
    for (const outcome of outcomes) this.emit('message', outcome)
  }
}

const found = (id: number, key: number): SearchOutcome => ({ id, keys: Uint32Array.of(key), values: Float64Array.of(0.5) })

let threads: FakeThread[]
let timers: { readonly ms: number; callback(): void }[]
let logged: string[]
let unanswered: string[]
let now: number
beforeEach(() => {
  threads = []
  timers = []
  logged = []
  unanswered = []
  now = 0
})

const setTimer = (ms: number, callback: () => void) => {
  const timer = { ms, callback }
  timers.push(timer)
  return () => void (timers.includes(timer) && timers.splice(timers.indexOf(timer), 1))
}

/** Advances the clock by this delay, and fires all timers with this delay. */
function fire(ms: number): void {
  now += ms
  for (const timer of timers.filter((one) => one.ms === ms)) {
    timers.splice(timers.indexOf(timer), 1)
    timer.callback()
  }
}

const openIndex = indexThreads({
  timeoutMs: TIMEOUT_MS,
  log: { info() {}, warn() {}, debug() {}, error: (_: unknown, name: string) => void logged.push(name) } as never,
  onUnanswered: (reason) => void unanswered.push(reason),
  timers: { setTimer, afterTurn: (callback) => callback(), monotonic: () => now },
  sharedMs: () => now,
  startThread() {
    const thread = new FakeThread()
    threads.push(thread)
    return thread as never
  },
})

async function opened() {
  const opening = openIndex('index', 2, ROOTS)
  threads[0].open()
  return await opening
}

/** Waits until the searches of this turn have been sent. */
const sent = () => new Promise((resolve) => setImmediate(resolve))

test('searches that start in the same turn of the event loop are sent to the thread together', async () => {
  const index = await opened()
  expect(index.size).toBe(2)
  const first = index.search(VECTOR, 1, 'product')
  const second = Promise.resolve().then(() => index.search(VECTOR, 2, 'cosine'))
  await sent()
  const third = index.search(VECTOR, 3, 'product')
  await sent()
  expect(threads[0].batches.map((batch) => batch.map(({ id, count, by, deadlineMs }) => [id, count, by, deadlineMs]))).toEqual([
    [
      [1, 1, 'product', TIMEOUT_MS],
      [2, 2, 'cosine', TIMEOUT_MS],
    ],
    [[3, 3, 'product', TIMEOUT_MS]],
  ])
  threads[0].answer(found(2, 22), found(1, 11), { id: 3, failure: 'the index is broken' })
  expect(await first).toEqual([{ key: 11, value: 0.5 }])
  expect(await second).toEqual([{ key: 22, value: 0.5 }])
  await expect(third).rejects.toThrow('the index is broken')
  expect([unanswered, timers]).toEqual([[], []])
})

test('a search that is not answered in time fails, and its late answer is ignored', async () => {
  const index = await opened()
  const search = index.search(VECTOR, 1, 'product')
  await sent()
  fire(TIMEOUT_MS)
  await expect(search).rejects.toMatchObject({ name: 'SearchError', reason: 'late' })
  threads[0].answer(found(1, 11))
  const next = index.search(VECTOR, 1, 'product')
  await sent()
  threads[0].answer(found(2, 22))
  expect(await next).toEqual([{ key: 22, value: 0.5 }])
  expect(unanswered).toEqual(['late'])
})

test('while the maximum number of searches wait for the thread, further searches fail at once', async () => {
  const index = await opened()
  const searches = Array.from({ length: MOST_UNANSWERED }, () => index.search(VECTOR, 1, 'product').catch(({ reason }) => reason))
  await sent()
  await expect(index.search(VECTOR, 1, 'product')).rejects.toMatchObject({ reason: 'full' })
  // A search whose caller has given up counts until the thread has answered it.
  fire(TIMEOUT_MS)
  expect(new Set(await Promise.all(searches))).toEqual(new Set(['late']))
  await expect(index.search(VECTOR, 1, 'product')).rejects.toMatchObject({ reason: 'full' })
  threads[0].answer({ id: 1, isLate: true })
  const next = index.search(VECTOR, 1, 'product')
  await sent()
  threads[0].answer(found(MOST_UNANSWERED + 1, 11))
  expect(await next).toEqual([{ key: 11, value: 0.5 }])
})

test('the thread drops a search whose deadline has passed', () => {
  const query = { id: 1, vector: VECTOR, count: 1, by: 'product' as const, deadlineMs: 100 }
  const index = { search: () => [{ key: 7, value: 0.25 }] }
  expect(answerQuery(index, query, 99)).toEqual({ id: 1, keys: Uint32Array.of(7), values: Float64Array.of(0.25) })
  expect(answerQuery(index, query, 100)).toEqual({ id: 1, isLate: true })
  const broken = {
    search() {
      throw new Error('the index is broken')
    },
  }
  expect(answerQuery(broken, query, 0)).toEqual({ id: 1, failure: 'the index is broken' })
})

test('a thread that has ended is replaced after a pause, and the pauses grow until a thread answers', async () => {
  const index = await opened()
  const search = index.search(VECTOR, 1, 'product')
  await sent()
  threads[0].emit('error', new Error('out of memory'))
  threads[0].emit('exit', 1)
  await expect(search).rejects.toMatchObject({ reason: 'away' })
  await expect(index.search(VECTOR, 1, 'product')).rejects.toMatchObject({ reason: 'away' })
  expect(threads).toHaveLength(1)
  fire(1_000)
  threads[1].emit('exit', 1)
  await sent()
  expect(timers.map(({ ms }) => ms)).toEqual([2_000])
  fire(2_000)
  threads[2].open()
  const next = index.search(VECTOR, 1, 'product')
  await sent()
  threads[2].answer(found(2, 22))
  expect(await next).toEqual([{ key: 22, value: 0.5 }])
  threads[2].emit('exit', 1)
  expect(timers.map(({ ms }) => ms)).toEqual([1_000])
  expect(logged).toEqual(['index_thread_ended', 'index_thread_ended', 'index_thread_ended'])
})

test('a thread that answers nothing for ten seconds is replaced, even if it cannot be terminated', async () => {
  const index = await opened()
  threads[0].terminate = async () => {
    threads[0].isTerminated = true
    return await new Promise<never>(() => undefined)
  }
  const searches = Array.from({ length: MOST_UNANSWERED }, () => index.search(VECTOR, 1, 'product').catch(({ reason }) => reason))
  await sent()
  fire(TIMEOUT_MS)
  await Promise.all(searches)
  const refused = async () => {
    await expect(index.search(VECTOR, 1, 'product')).rejects.toMatchObject({ reason: 'full' })
    return threads[0].isTerminated
  }
  expect(await refused()).toBe(false)
  now += 9_999
  expect(await refused()).toBe(false)
  now += 1
  expect(await refused()).toBe(true)
  expect(logged).toEqual(['index_thread_ended'])
  fire(1_000)
  threads[1].open()
  // The end of the thread that was replaced does not affect the new thread.
  threads[0].emit('exit', 1)
  const next = index.search(VECTOR, 1, 'product')
  await sent()
  threads[1].answer(found(MOST_UNANSWERED + 1, 22))
  expect(await next).toEqual([{ key: 22, value: 0.5 }])
})

test('a thread that does not open the index in time is replaced, even if it cannot be terminated', async () => {
  const index = await opened()
  threads[0].emit('exit', 1)
  fire(1_000)
  threads[1].terminate = async () => {
    threads[1].isTerminated = true
    return await new Promise<never>(() => undefined)
  }
  fire(OPENING_MS)
  await sent()
  expect([threads[1].isTerminated, logged]).toEqual([true, ['index_thread_ended', 'index_thread_ended']])
  threads[1].open()
  await expect(index.search(VECTOR, 1, 'product')).rejects.toMatchObject({ reason: 'away' })
  fire(2_000)
  threads[2].open()
  const next = index.search(VECTOR, 1, 'product')
  await sent()
  threads[2].answer(found(1, 22))
  expect(await next).toEqual([{ key: 22, value: 0.5 }])
  const hung = openIndex('index', 2, ROOTS)
  fire(OPENING_MS)
  await expect(hung).rejects.toThrow('did not open the index in time')
  expect(threads[3].isTerminated).toBe(true)
})

test('an index whose thread refuses the file or does not start is not opened', async () => {
  const refused = openIndex('index', 2, ROOTS)
  threads[0].emit('message', { refusal: 'it is not a saved index' })
  threads[0].emit('exit', 0)
  await expect(refused).rejects.toThrow('it is not a saved index')
  const failed = openIndex('index', 2, ROOTS)
  threads[1].emit('error', new Error('no more threads'))
  threads[1].emit('exit', 1)
  await expect(failed).rejects.toThrow('no more threads')
  expect([timers, logged]).toEqual([[], []])
})

test('an index closes after its last search, and its thread is not replaced', async () => {
  const index = await opened()
  const search = index.search(VECTOR, 1, 'product')
  await sent()
  const closing = index.close()
  await expect(index.search(VECTOR, 1, 'product')).rejects.toMatchObject({ reason: 'away' })
  await sent()
  expect(threads[0].isTerminated).toBe(false)
  threads[0].answer(found(1, 11))
  expect(await search).toEqual([{ key: 11, value: 0.5 }])
  await closing
  expect([threads[0].isTerminated, timers, logged]).toEqual([true, [], []])
})

test('an index closes even if its thread cannot be terminated', async () => {
  const index = await opened()
  threads[0].terminate = () => new Promise<never>(() => undefined)
  let isClosed = false
  void index.close().then(() => {
    isClosed = true
  })
  await expect.poll(() => isClosed).toBe(true)
})

/** Opens a model whose index is searched by a real thread. */
function openWithThread() {
  const log = { info() {}, warn() {}, debug() {}, error() {} } as never
  const openInThread = indexThreads({ timeoutMs: 60_000, log, onUnanswered: () => undefined })
  return openModel(folder, { openIndex: openInThread, mostWhole: 0 })
}

test('a thread finds the same items as a search in the main thread', async () => {
  writeBundle(folder, { sequence: 4, trainedAt: START, axes: AXES })
  const here = await openModel(folder, { mostWhole: 0 })
  onTestFinished(() => here.close())
  const model = await openWithThread()
  const vector = model.foldIn([{ itemId: 1n, weight: 1 }])!
  const near = await model.nearest(vector, 10)
  expect(near).toHaveLength(10)
  expect(near).toEqual(await here.nearest(vector, 10))
  expect(await model.similarTo(2n, 5)).toEqual(await here.similarTo(2n, 5))
  await model.close()
  await expect(model.nearest(vector, 1)).rejects.toMatchObject({ reason: 'away' })
})

test('a thread refuses a damaged index and an index that lacks items', async () => {
  const damage = { 'items.usearch': () => Buffer.alloc(100, 7) }
  writeBundle(folder, { sequence: 4, trainedAt: START, axes: AXES, damage })
  await expect(openWithThread()).rejects.toMatchObject({ name: 'BundleError', message: 'the index cannot be read' })
  const small = mkdtempSync(join(tmpdir(), 'millrace-small-index-'))
  onTestFinished(() => rmSync(small, { recursive: true, force: true }))
  writeBundle(small, { sequence: 4, trainedAt: START, axes: new Map([[1n, 0]]) })
  const few = readFileSync(join(small, 'items.usearch'))
  writeBundle(folder, { sequence: 4, trainedAt: START, axes: AXES, damage: { 'items.usearch': () => few } })
  await expect(openWithThread()).rejects.toMatchObject({ name: 'BundleError', message: `the index contains 1 of ${ITEMS} items` })
})
