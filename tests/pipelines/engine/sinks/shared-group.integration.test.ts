import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { memoryRegistry } from '../../../../kafka/memory/registry.ts'
import type { GroupMember } from '../../../../kafka/transport.ts'
import { createSink, type Sink } from '../../../../pipelines/engine/sinks/sink.ts'
import { sinkGroup } from '../../../../pipelines/engine/sinks/sink-group.ts'
import { tableTarget } from '../../../../pipelines/engine/sinks/table-target.ts'
import { systemRuntime } from '../../../../runtime/system.ts'
import { connectSinkClickhouse } from '../../../../state/tables/connect.ts'
import { tableStore } from '../../../../state/tables/store.ts'
import { AT_FIRST_TRY, testStack, uniqueName } from '../../../stack/index.ts'
import { rowsOf, testDatabase } from '../../../state/tables/database.ts'
import { type Event, eventsTable } from '../../../state/tables/events-table.ts'
import { hangingProxy } from './hanging-proxy.ts'
import { jsonTopic } from './json-topic.ts'
import { loneSeat } from './lone-seat.ts'
import { type RealBroker, realBroker, silent } from './real-broker.ts'
import { readValue } from './values-view.ts'
import { VIEW_PARTITIONS, viewSinks } from './view-sinks.ts'

const PROCESS = fileURLToPath(new URL('./view-sinks-process.ts', import.meta.url))
const DEADLINE_MS = 40_000
const eventually = <T>(look: () => T) => expect.poll(look, { timeout: DEADLINE_MS, interval: 50 })
/**
 * Longest delay that still counts as immediate. It is far below the session and request timeouts, but long enough for a
 * busy machine.
 */
const AT_ONCE_MS = 4_000

const runtime = systemRuntime(silent)

type Client = ReturnType<typeof connectSinkClickhouse>

async function world() {
  const broker = await testStack().kafka()
  return { broker, kafka: await realBroker(broker) }
}

function start(sinks: readonly Sink[]): readonly Sink[] {
  for (const sink of sinks) {
    sink.run().catch(() => {})
    onTestFinished(() => sink.stop())
  }
  return sinks
}

const lanesOf = (sinks: readonly Sink[]) => sinks.map((sink) => sink.lanes().length)

test('when a process is killed, its partitions move only to processes that run the same services, and return after it has restarted', async () => {
  const { broker, kafka } = await world()
  const url = await testStack().redis()
  const redis = new Redis(url)
  onTestFinished(() => redis.disconnect())
  const [common, ofChild, ofThis] = [
    await kafka.newTopic(VIEW_PARTITIONS),
    await kafka.newTopic(VIEW_PARTITIONS),
    await kafka.newTopic(VIEW_PARTITIONS),
  ]
  const groupId = uniqueName('sinks')
  const childId = randomUUID()
  let round = 0

  async function change(...topics: string[]): Promise<void> {
    round++
    for (const topic of topics)
      await kafka.produce(
        topic,
        Array.from({ length: VIEW_PARTITIONS }, (_, partition) => ({ partition, key: 'key', value: `round ${round}` })),
      )
  }

  const values = (topic: string) =>
    Promise.all(Array.from({ length: VIEW_PARTITIONS }, (_, partition) => readValue(redis, topic, partition, 'key')))
  const inRound = (number: number) => Array.from({ length: VIEW_PARTITIONS }, () => `round ${number}`)

  function startChild(): ChildProcess {
    const child = spawn(process.execPath, [PROCESS, broker, url, groupId, childId, common, ofChild], {
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    return child
  }

  const child = startChild()
  const here = start(viewSinks({ transport: kafka.transport, redis: url, groupId, memberId: randomUUID(), topics: [common, ofThis] }))
  await change(common, ofChild, ofThis)
  for (const topic of [common, ofChild, ofThis]) await eventually(() => values(topic)).toEqual(inRound(1))
  await eventually(() => lanesOf(here)).toEqual([1, 2])

  child.kill('SIGKILL')
  await once(child, 'exit')
  await change(common, ofChild, ofThis)
  for (const topic of [common, ofThis]) await eventually(() => values(topic)).toEqual(inRound(2))
  expect(lanesOf(here)).toEqual([2, 2])
  expect(await values(ofChild)).toEqual(inRound(1))

  startChild()
  await eventually(() => values(ofChild)).toEqual(inRound(2))
  await eventually(() => lanesOf(here)).toEqual([1, 2])
  await change(common, ofChild, ofThis)
  for (const topic of [common, ofChild, ofThis]) await eventually(() => values(topic)).toEqual(inRound(3))
})

async function openTable(client: Client) {
  return tableTarget({ table: eventsTable, limits: { lingerMs: 20 } }, tableStore(eventsTable, client, { cluster: undefined }))
}

const events = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => ({
    partition: (from + index) % VIEW_PARTITIONS,
    key: `key ${from + index}`,
    value: { id: `event ${from + index}`, at: Date.UTC(2026, 10, 1), rows: 1 } satisfies Event,
  }))

async function counted(client: Client): Promise<{ rows: number; offsets: number }> {
  const query = 'SELECT toUInt32(count()) AS rows, toUInt32(uniqExact(kafka_partition, kafka_offset)) AS offsets FROM events'
  const [found] = await rowsOf<{ rows: number; offsets: number }>(client, query)
  return found
}

async function makeTable(client: Client): Promise<string> {
  const identity = await tableStore(eventsTable, client, { cluster: undefined }).prepare()
  // Disables merges and deduplication, because both would hide duplicate rows.
  const merges = 'max_bytes_to_merge_at_max_space_in_pool = 1, max_bytes_to_merge_at_min_space_in_pool = 1'
  await client.command({ query: `ALTER TABLE events MODIFY SETTING ${merges}, non_replicated_deduplication_window = 0` })
  return identity
}

async function runTable(kafka: RealBroker, topic: string, client: Client): Promise<Sink> {
  const name = `table-${topic}`
  const seat = loneSeat(kafka.transport, name, randomUUID())
  const options = { name, topics: [jsonTopic<Event>(topic, VIEW_PARTITIONS)] }
  const deps = { transport: kafka.transport, registry: memoryRegistry(), target: await openTable(client), seat, runtime }
  const [sink] = start([createSink(options, deps)])
  return sink
}

test('a ClickHouse that hangs delays neither views nor the hand-over of their partitions', AT_FIRST_TRY, async () => {
  const { kafka } = await world()
  const redis = await testStack().redis()
  const { url, database, client } = await testDatabase()
  await makeTable(client)
  const proxy = await hangingProxy(url)
  const behindProxy = connectSinkClickhouse({ url: proxy.url, database })
  onTestFinished(() => behindProxy.close())
  const [viewTopic, tableTopic] = [await kafka.newTopic(VIEW_PARTITIONS), await kafka.newTopic(VIEW_PARTITIONS)]
  const [views, tables] = [uniqueName('views'), uniqueName('tables')]

  const inProcess = () => viewSinks({ transport: kafka.transport, redis, groupId: views, memberId: randomUUID(), topics: [viewTopic] })
  const [view] = start(inProcess())
  const tableSeat = sinkGroup({ groupId: tables, memberId: randomUUID() }, { transport: kafka.transport, runtime }).seat()
  const tableOptions = { name: `table-${tableTopic}`, topics: [jsonTopic<Event>(tableTopic, VIEW_PARTITIONS)] }
  const common = { transport: kafka.transport, registry: memoryRegistry(), runtime }
  const [table] = start([createSink(tableOptions, { ...common, target: await openTable(behindProxy), seat: tableSeat })])
  await eventually(() => view.isReady && table.isReady).toBe(true)

  proxy.hang()
  await kafka.produce(tableTopic, events(0, 100))
  await eventually(() => table.lanes().every(({ lag }) => lag > 0)).toBe(true)
  const reader = new Redis(redis)
  onTestFinished(() => reader.disconnect())
  await kafka.produce(viewTopic, [{ partition: 0, key: 'key', value: 'while ClickHouse hangs' }])
  await expect.poll(() => readValue(reader, viewTopic, 0, 'key'), { timeout: AT_ONCE_MS }).toBe('while ClickHouse hangs')
  const [viewThere] = start(inProcess())
  await expect.poll(() => [view.lanes().length, viewThere.lanes().length], { timeout: AT_ONCE_MS }).toEqual([1, 1])
  await expect.poll(() => viewThere.isReady, { timeout: AT_ONCE_MS }).toBe(true)

  proxy.release()
  await eventually(() => counted(client)).toEqual({ rows: 100, offsets: 100 })
})

/** Simulates a process of the earlier version, in which each sink joined a group that had the name of the sink. */
async function formerVersion(kafka: RealBroker, sink: string, topic: string): Promise<GroupMember> {
  const member = kafka.transport.groupMember({ groupId: sink, memberId: randomUUID(), topics: [topic] })
  await member.join()
  let owned = 0
  await eventually(() => {
    const event = member.takeEvent()
    if (event?.type === 'assignment') {
      member.acknowledge(event.partitions)
      owned = event.partitions.length
    }
    return owned
  }).toBe(VIEW_PARTITIONS)
  return member
}

const committedBy = (topic: string, offset: number, metadata: string) =>
  new Map(
    Array.from({ length: VIEW_PARTITIONS }, (_, partition) => [`${topic}-${partition}`, { topic, partition, offset, metadata }] as const),
  )

test('a table whose rows have expired continues from the offsets that the earlier version committed', async () => {
  const { kafka } = await world()
  const topic = await kafka.newTopic(VIEW_PARTITIONS)
  const { client } = await testDatabase()
  const identity = await makeTable(client)
  await kafka.produce(topic, events(0, 200))
  const former = await formerVersion(kafka, `table-${topic}`, topic)
  await former.commit(committedBy(topic, 100, identity))

  const sink = await runTable(kafka, topic, client)
  await kafka.produce(topic, events(200, 20))
  await eventually(() => sink.isReady).toBe(true)
  expect(await counted(client)).toEqual({ rows: 0, offsets: 0 })
  await former.leave()
  await eventually(() => counted(client)).toEqual({ rows: 20, offsets: 20 })
  // The next process, of either version, must be able to continue from these offsets.
  const group = kafka.transport.memberlessGroup(`table-${topic}`)
  await eventually(async () => (await group.committed([{ topic, partition: 1 }])).get(`${topic}-1`)).toMatchObject({
    offset: 110,
    metadata: identity,
  })
})

test(
  'a process of an earlier version that starts later gets the partitions of a table, and no row is duplicated',
  AT_FIRST_TRY,
  async () => {
    const { kafka } = await world()
    const topic = await kafka.newTopic(VIEW_PARTITIONS)
    const { client } = await testDatabase()
    const identity = await makeTable(client)
    const sink = await runTable(kafka, topic, client)
    await kafka.produce(topic, events(0, 100))
    await eventually(() => counted(client)).toEqual({ rows: 100, offsets: 100 })

    const former = await formerVersion(kafka, `table-${topic}`, topic)
    await kafka.produce(topic, events(100, 100))
    await eventually(() => sink.lanes().map(({ state }) => state)).toEqual(['opening', 'opening'])
    // The process of the earlier version inserts these rows while the sink waits.
    for (let partition = 0; partition < VIEW_PARTITIONS; partition++) {
      const rows = events(100, 100).flatMap(({ partition: of, value }, index) =>
        of === partition ? [{ offset: 50 + Math.floor(index / VIEW_PARTITIONS), row: { id: value.id, number: 0, at: value.at } }] : [],
      )
      await tableStore(eventsTable, client, { cluster: undefined }).insert({ topic, partition, rows })
    }
    await former.commit(committedBy(topic, 100, identity))
    await former.leave()
    await kafka.produce(topic, events(200, 100))
    await eventually(() => counted(client)).toEqual({ rows: 300, offsets: 300 })
  },
)
