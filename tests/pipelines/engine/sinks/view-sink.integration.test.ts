import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Admin } from '@platformatic/kafka'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { memoryRegistry } from '../../../../kafka/memory/registry.ts'
import { createSink, type Sink } from '../../../../pipelines/engine/sinks/sink.ts'
import { viewTarget } from '../../../../pipelines/engine/sinks/view-target.ts'
import { systemRuntime } from '../../../../runtime/system.ts'
import type { AnyTopic } from '../../../../schemas/topic.ts'
import { viewStore } from '../../../../state/views/apply.ts'
import { connectSinkRedis } from '../../../../state/views/connect.ts'
import { NOT_CAUGHT_UP } from '../../../../state/views/view.ts'
import { flushTestRedis } from '../../../stack/flush-redis.ts'
import { AT_FIRST_TRY, privateRedis, testStack, uniqueName } from '../../../stack/index.ts'
import { jsonTopic } from './json-topic.ts'
import { loneSeat } from './lone-seat.ts'
import { type ProducedRecord, type RealBroker, realBroker, silent } from './real-broker.ts'
import { readValue, valuesView } from './values-view.ts'

const PARTITIONS = 2
const KEYS = 50
const PROCESS = fileURLToPath(new URL('./view-sink-process.ts', import.meta.url))
const DEADLINE_MS = 40_000
const eventually = <T>(look: () => T) => expect.poll(look, { timeout: DEADLINE_MS, interval: 50 })

async function world() {
  const broker = await testStack().kafka()
  const kafka = await realBroker(broker)
  const topic = await kafka.newTopic(PARTITIONS)
  const server = await privateRedis()
  const redis = new Redis(server.address, { maxRetriesPerRequest: null, retryStrategy: () => 50 })
  redis.on('error', () => {})
  onTestFinished(() => redis.disconnect())
  const view = uniqueName('values')
  const expected = Array.from({ length: PARTITIONS }, () => new Map<string, string | undefined>())
  let round = 0

  /** Writes a new value for most keys, and deletes the other keys. */
  async function change(): Promise<void> {
    round++
    const records: ProducedRecord[] = []
    for (let partition = 0; partition < PARTITIONS; partition++) {
      for (let key = 0; key < KEYS; key++) {
        const value = (key + round) % 7 === 0 ? null : `${key} in round ${round}`
        records.push({ partition, key: String(key), value })
        expected[partition].set(String(key), value ?? undefined)
      }
    }
    await kafka.produce(topic, records)
  }

  async function contents(): Promise<unknown> {
    return Promise.all(
      expected.map(async (keys, partition) => {
        const entries = [...keys.keys()].map(async (key) => [key, await readValue(redis, view, partition, key)] as const)
        return new Map(await Promise.all(entries))
      }),
    )
  }

  return { broker, kafka, topic, server, redis, view, expected, change, contents }
}

function runSink(kafka: RealBroker, redisUrl: string, view: string, topics: AnyTopic[], group = topics[0].name): Sink {
  const redis = connectSinkRedis({ url: redisUrl, cluster: false }, silent)
  onTestFinished(() => redis.disconnect())
  const target = viewTarget({ view: valuesView(view), topics }, { store: viewStore(redis), runtime: systemRuntime(silent) })
  const name = `view-${group}`
  const seat = loneSeat(kafka.transport, name, randomUUID())
  const sink = createSink(
    { name, topics },
    { transport: kafka.transport, registry: memoryRegistry(), target, seat, runtime: systemRuntime(silent) },
  )
  sink.run().catch(() => {})
  onTestFinished(() => sink.stop())
  return sink
}

test(
  'a Redis that is emptied while the topics are silent is filled again, and no reader mistakes a value for absent',
  AT_FIRST_TRY,
  async () => {
    const { kafka, topic, server, redis, view, expected, change, contents } = await world()
    const sink = runSink(kafka, server.address, view, [jsonTopic<string>(topic, PARTITIONS)])
    for (let round = 0; round < 3; round++) await change()
    await eventually(contents).toEqual(expected)

    const seen = new Set<unknown>()
    let watching = true
    const watch = (async () => {
      while (watching) seen.add(await readValue(redis, view, 1, '1'))
    })()
    const value = expected[1].get('1')
    for (let flush = 0; flush < 3; flush++) {
      await flushTestRedis(redis)
      await eventually(contents).toEqual(expected)
    }
    watching = false
    await watch
    expect(seen).toContain(NOT_CAUGHT_UP)
    expect(seen).toContain(value)
    expect(seen.has(undefined)).toBe(false)
    expect(sink.metrics.rewinds).toBeGreaterThanOrEqual(3)
  },
)

test('a Redis that is stopped for a while, or killed, ends up with the contents of the log', AT_FIRST_TRY, async () => {
  const { kafka, topic, server, view, expected, change, contents } = await world()
  const sink = runSink(kafka, server.address, view, [jsonTopic<string>(topic, PARTITIONS)])
  await change()
  await eventually(contents).toEqual(expected)
  await server.stop()
  await change()
  await change()
  await eventually(() => sink.metrics.retries).toBeGreaterThan(2)
  await server.start()
  await eventually(contents).toEqual(expected)
  for (let kill = 0; kill < 3; kill++) {
    await change()
    await server.kill()
    await change()
    await server.start()
    await eventually(contents).toEqual(expected)
  }
})

test('a view of two topics has caught up only when it has caught up with both topics', async () => {
  const { kafka, topic, server, redis, view, expected, change, contents } = await world()
  const other = await kafka.newTopic(PARTITIONS)
  await change()
  const topics = [jsonTopic<string>(topic, PARTITIONS), jsonTopic<string>(other, PARTITIONS)]
  // This sink reads only one of the two topics, as if the other topic's sink had not started yet.
  const target = viewTarget({ view: valuesView(view), topics }, { store: viewStore(redis), runtime: systemRuntime(silent) })
  const seat = loneSeat(kafka.transport, `view-${topic}`, randomUUID())
  const deps = { transport: kafka.transport, registry: memoryRegistry(), target, seat, runtime: systemRuntime(silent) }
  const alone = createSink({ name: `view-${topic}`, topics: [topics[0]] }, deps)
  alone.run().catch(() => {})
  onTestFinished(() => alone.stop())
  await eventually(() => alone.isReady).toBe(true)
  expect(await readValue(redis, view, 0, '1')).toBe(NOT_CAUGHT_UP)
  await alone.stop()

  runSink(kafka, server.address, view, topics)
  await eventually(contents).toEqual(expected)
})

test('two sinks share the partitions, and when one sink is killed with -9, the other one takes over', async () => {
  const { broker, kafka, topic, server, view, expected, change, contents } = await world()
  const topics = [jsonTopic<string>(topic, PARTITIONS)]
  const args = [PROCESS, broker, server.address, topic, view, randomUUID()]
  const child: ChildProcess = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  await change()
  await eventually(contents).toEqual(expected)
  const sink = runSink(kafka, server.address, view, topics)
  await eventually(() => sink.lanes().length).toBe(1)
  await change()
  await eventually(contents).toEqual(expected)
  child.kill('SIGKILL')
  await once(child, 'exit')
  await change()
  await eventually(contents).toEqual(expected)
  expect(sink.lanes()).toHaveLength(2)
})

test('a view that is ahead of its log counts as the view of another log, so it is emptied and rebuilt', async () => {
  const { kafka, topic, server, redis, view, expected, change, contents } = await world()
  await change()
  const first = runSink(kafka, server.address, view, [jsonTopic<string>(topic, PARTITIONS)])
  await eventually(contents).toEqual(expected)
  await first.stop()
  // Simulates a broker that has lost its disk: the topic has the same name but fewer records.
  for (let partition = 0; partition < PARTITIONS; partition++) {
    await redis.hset(`{${view}:${partition}}:positions`, topic, 1_000_000)
    await redis.set(`{${view}:${partition}}:value:stale`, 'from another log')
    expected[partition].set('stale', undefined)
  }
  runSink(kafka, server.address, view, [jsonTopic<string>(topic, PARTITIONS)])
  await eventually(contents).toEqual(expected)
})

test('a view of a topic that was deleted and created again with more records than before is emptied and rebuilt', async () => {
  const { broker, kafka, topic, server, redis, view, expected, change, contents } = await world()
  await change()
  const first = runSink(kafka, server.address, view, [jsonTopic<string>(topic, PARTITIONS)])
  await eventually(contents).toEqual(expected)
  await first.stop()
  for (let partition = 0; partition < PARTITIONS; partition++) {
    await redis.set(`{${view}:${partition}}:value:stale`, 'from the deleted topic')
    expected[partition].set('stale', undefined)
  }
  const admin = new Admin({ clientId: 'test', bootstrapBrokers: [broker] })
  onTestFinished(() => admin.close())
  const idOf = async () => (await kafka.transport.topicIds([topic])).get(topic)
  const deleted = await idOf()
  await admin.deleteTopics({ topics: [topic] })
  await eventually(idOf).toBeUndefined()
  await kafka.transport.ensureTopics([{ name: topic, partitions: PARTITIONS }])
  expect(await idOf()).not.toBe(deleted)
  await kafka.startOver()
  for (let round = 0; round < 3; round++) await change()
  runSink(kafka, server.address, view, [jsonTopic<string>(topic, PARTITIONS)])
  await eventually(contents).toEqual(expected)
})
