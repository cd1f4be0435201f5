import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Admin } from '@platformatic/kafka'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { waitUntil } from '../../../../deploy/local/wait.ts'
import { memoryRegistry } from '../../../../kafka/memory/registry.ts'
import { testDriver } from '../../../../pipelines/engine/testing/test-driver.ts'
import { memberIdentity } from '../../../../pipelines/engine/worker/member-identity.ts'
import { createWorker } from '../../../../pipelines/engine/worker/worker.ts'
import { silentLog, systemRuntime } from '../../../../runtime/system.ts'
import { memoryBackend } from '../../../../state/stores/memory-backend.ts'
import { brokerProxy } from '../../../kafka/client/broker-proxy.ts'
import { connected, newProducer, readToEnd } from '../../../kafka/client/harness.ts'
import { AT_FIRST_TRY, testStack, uniqueName } from '../../../stack/index.ts'
import { billing, LONG_NOTE } from '../billing.ts'
import { newIdentity } from '../harness.ts'
import { lines, numberTopic, textTopic, wordCount, wordCounts } from '../words.ts'
import { authorLines, DEADLINE_MS, exactCounts, topicReader, wordBench } from './broker-bench.ts'

/** Interval between batches of lines. It is so short that the worker always has something to commit. */
const SEND_EVERY_MS = 50

/** Number of orders of 100 KB each. They fill ten fetch responses. */
const BACKLOG = 100

let brokers: string

beforeAll(async () => {
  brokers = await testStack().kafka()
})

test('the test driver and the real broker give the same output for the same input', async () => {
  const bench = await wordBench(brokers)
  const input = authorLines(200, 3)
  await bench.send(input)
  bench.spawn()
  await bench.complete()
  const driver = testDriver(wordCount())
  for (const [author, line] of input) driver.pipe(lines, author, line)
  const simulated = new Map<string, number[]>()
  for (const { key, value } of driver.read(wordCounts)) simulated.set(key ?? '', [...(simulated.get(key ?? '') ?? []), value ?? -1])
  expect(await bench.output()).toEqual(simulated)
})

test(
  'with a backlog, each order gets the price at the time of the order, although the price list arrives in one response',
  AT_FIRST_TRY,
  async () => {
    const { flow, orders, prices, bills } = billing(undefined, uniqueName('billing'))
    const transport = await connected(brokers)
    await transport.ensureTopics([orders, prices, bills].map(({ name }) => ({ name, partitions: 1 })))
    const producer = await newProducer(transport)
    const key = Buffer.from('apple')
    const append = (topic: string, at: number, value: Buffer) =>
      producer.appender(topic, 0).append(at, key, 0, key.length, value, 0, value.length)
    const start = Date.now() - 60_000
    for (let i = 0; i < BACKLOG; i++) {
      append(prices.name, start + 2 * i, Buffer.from(String(i)))
      append(orders.name, start + 2 * i + 1, Buffer.from(`${i} ${LONG_NOTE}`))
      if (i % 5 === 4) await producer.commit(new Map(), undefined)
    }
    const worker = createWorker(
      { topology: flow },
      { transport, registry: memoryRegistry(), backend: memoryBackend(), identity: newIdentity(), runtime: systemRuntime() },
    )
    await worker.start()
    onTestFinished(worker.stop)
    const reader = await topicReader(transport, bills.name, 1)
    const numbers = async () => (await reader.all()).map(({ value }) => Number(value))
    await waitUntil(async () => (await numbers()).length === BACKLOG, { what: 'every order has a bill', timeoutMs: DEADLINE_MS })
    expect(await numbers()).toEqual(Array.from({ length: BACKLOG }, (_, i) => i))
  },
)

test('workers that join, leave and are killed during processing neither lose nor duplicate records', AT_FIRST_TRY, async () => {
  const bench = await wordBench(brokers)
  const folder = (name: string) => join(bench.folder.path, name)
  const a = bench.spawn({ folder: folder('a') })
  await a.ready
  await bench.send(authorLines(200, 1))
  const b = bench.spawn({ folder: folder('b') })
  for (let i = 0; i < 10; i++) await bench.send(authorLines(50, i))
  await b.ready
  await bench.send(authorLines(200, 2))
  a.child.kill('SIGKILL')
  await a.exited
  await bench.send(authorLines(200, 3))
  const reborn = bench.spawn({ folder: folder('a') })
  await reborn.ready
  await bench.send(authorLines(200, 4))
  b.child.kill('SIGTERM')
  expect(await b.exited).toBe(0)
  await bench.send(authorLines(200, 5))
  await bench.complete()
  expect(await bench.output()).toEqual(exactCounts(bench.expected))
})

test('a worker that was suspended until it was fenced commits no work from before the suspension', AT_FIRST_TRY, async () => {
  const bench = await wordBench(brokers)
  const folder = (name: string) => join(bench.folder.path, name)
  const zombie = bench.spawn({ folder: folder('zombie') })
  await zombie.ready
  await bench.send(authorLines(100, 1))
  zombie.child.kill('SIGSTOP')
  onTestFinished(() => {
    zombie.child.kill('SIGCONT')
    zombie.child.kill('SIGKILL')
  })
  await bench.send(authorLines(300, 2))
  bench.spawn({ folder: folder('heir') })
  // The other worker gets the partitions once the session of the suspended worker has timed out.
  await bench.complete()
  await bench.send(authorLines(100, 3))
  zombie.child.kill('SIGCONT')
  await bench.send(authorLines(300, 4))
  await bench.complete()
  expect(await bench.output()).toEqual(exactCounts(bench.expected))
})

test(
  'the next owner aborts the open transaction of a dead worker, so that no reader waits for the timeout of the transaction',
  AT_FIRST_TRY,
  async () => {
    const bench = await wordBench(brokers)
    const dead = bench.spawn({ folder: join(bench.folder.path, 'dead'), kill: { step: 'produced', commit: 2 } })
    const heirLog: string[] = []
    await dead.ready
    const heir = createWorker(
      { topology: wordCount(bench.topology, { lines: textTopic(bench.lines), wordCounts: numberTopic(bench.counts) }) },
      {
        transport: bench.transport,
        registry: memoryRegistry(),
        backend: memoryBackend(),
        identity: memberIdentity(join(bench.folder.path, 'heir'), bench.topology),
        runtime: systemRuntime({ ...silentLog, warn: (_fields, event) => heirLog.push(event) }),
      },
    )
    onTestFinished(() => heir.stop())
    await heir.start()
    for (let round = 0; dead.child.signalCode === null; round++) {
      await bench.send(authorLines(50, round))
      await Promise.race([dead.exited, delay(SEND_EVERY_MS)])
    }
    await bench.complete()
    expect(await bench.output()).toEqual(exactCounts(bench.expected))
    expect(heirLog).toContain('transactions_of_the_dead_ended')
  },
)

test.each(['none', 'zstd'] as const)('compression %s applies to outputs, repartition topics and changelogs', async (compression) => {
  const bench = await wordBench(brokers)
  const proxy = await brokerProxy(brokers)
  onTestFinished(() => proxy.close())
  const worker = createWorker(
    { topology: wordCount(bench.topology, { lines: textTopic(bench.lines), wordCounts: numberTopic(bench.counts) }), compression },
    {
      transport: await connected(proxy.address),
      registry: memoryRegistry(),
      backend: memoryBackend(),
      identity: memberIdentity(join(bench.folder.path, 'member'), bench.topology),
      runtime: systemRuntime(),
    },
  )
  onTestFinished(() => worker.stop())
  await worker.start()
  const long = 'word'.repeat(100)
  await bench.send([['ann', `${long} ${long}`]])
  await bench.complete()
  await worker.stop()
  const written = proxy.requests('produce')
  const topics = [bench.counts, `${bench.topology}-by-word-repartition`, `${bench.topology}-totals-changelog`]
  for (const topic of topics) {
    const requests = written.filter((request) => request.includes(topic))
    expect([topic, requests.length > 0]).toEqual([topic, true])
    expect([topic, requests.some((request) => request.includes(long))]).toEqual([topic, compression === 'none'])
  }
  expect(await bench.output()).toEqual(exactCounts(bench.expected))
})

test('an undecodable record becomes a dead letter that npm run dlq shows and replays, and processing continues', async () => {
  const bench = await wordBench(brokers)
  const producer = bench.transport.producer({})
  await producer.init()
  const bad = Buffer.from([0xff, 0xfe])
  const key = Buffer.from('ann')
  producer.appender(bench.lines, 0).append(Date.now(), key, 0, key.length, bad, 0, bad.length)
  await producer.commit(new Map(), undefined)
  await bench.send(authorLines(20, 1))
  bench.spawn()
  await bench.complete()
  const topic = `${bench.topology}-dead-letters`
  await waitUntil(async () => (await readToEnd(bench.transport, { topic, partition: 0 })).length === 1, {
    what: 'the dead letter',
    timeoutMs: DEADLINE_MS,
  })
  const main = join(import.meta.dirname, '../../../../tools/dlq/main.ts')
  const run = promisify(execFile)
  const env = { ...process.env, KAFKA_BROKERS: brokers }
  const { stdout: list } = await run(process.execPath, [main, 'list'], { env })
  expect(list).toContain(`${bench.topology}: 1 dead letter\n  undecodable_value: 1, offset 0\n`)
  const { stdout: shown } = await run(process.execPath, [main, 'show', bench.topology], { env })
  expect(shown).toContain(`came from: ${bench.lines}-0 offset 0`)
  expect(shown).toContain('value: 0xfffe')
  await run(process.execPath, [main, 'replay', bench.topology, '--all'], { env })
  await waitUntil(async () => (await readToEnd(bench.transport, { topic, partition: 0 })).length === 3, {
    what: 'the replay and the returning record',
    timeoutMs: DEADLINE_MS,
  })
  const { stdout: again } = await run(process.execPath, [main, 'replay', bench.topology, '--all'], { env })
  expect(again).toBe(
    'replayed 0 records\nskipped 1 dead letters of records that were already replayed\nskipped 1 dead letters of records that failed again after a replay: fix the cause, then use --again\n',
  )
})

test(
  'a stateless stage processes the new partitions of its source, but new partitions of a stage with state make the worker not ready',
  AT_FIRST_TRY,
  async () => {
    const bench = await wordBench(brokers)
    const admin = new Admin({ clientId: 'test', bootstrapBrokers: [brokers] })
    onTestFinished(() => admin.close())
    const worker = createWorker(
      { topology: wordCount(bench.topology, { lines: textTopic(bench.lines), wordCounts: numberTopic(bench.counts) }) },
      {
        transport: bench.transport,
        registry: memoryRegistry(),
        backend: memoryBackend(),
        identity: memberIdentity(join(bench.folder.path, 'member'), bench.topology),
        runtime: systemRuntime(),
      },
    )
    onTestFinished(() => worker.stop())
    await worker.start()
    await bench.send([['ann', 'to be']])
    await bench.complete()
    await admin.createPartitions({ topics: [{ name: bench.lines, count: 4, assignments: null }] })
    await waitUntil(async () => worker.status().tasks.length === 4 + 3 && worker.status().ready, {
      what: 'the worker has a task per partition',
      timeoutMs: DEADLINE_MS,
      intervalMs: 100,
    })
    const producer = await newProducer(await connected(brokers))
    for (const partition of [2, 3]) {
      const value = Buffer.from('or not')
      producer.appender(bench.lines, partition).append(Date.now(), value, 0, value.length, value, 0, value.length)
    }
    await producer.commit(new Map(), undefined)
    await waitUntil(async () => JSON.stringify((await bench.output()).get('not')) === '[1,2]', {
      what: 'the words of the new partitions are counted',
      timeoutMs: DEADLINE_MS,
      intervalMs: 200,
    })
    await admin.createPartitions({ topics: [{ name: `${bench.topology}-by-word-repartition`, count: 5, assignments: null }] })
    await waitUntil(async () => !worker.status().ready && worker.status().withoutTask.length > 0, {
      what: 'the worker is not ready',
      timeoutMs: DEADLINE_MS,
      intervalMs: 100,
    })
    expect(worker.status().withoutTask[0]).toMatch(/-by-word-repartition has 5 partitions, but the state \(totals\) was built with 3/)
  },
)
