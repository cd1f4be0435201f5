import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { memoryRegistry } from '../../../../kafka/memory/registry.ts'
import { createSink, type Sink } from '../../../../pipelines/engine/sinks/sink.ts'
import { tableTarget } from '../../../../pipelines/engine/sinks/table-target.ts'
import { systemRuntime } from '../../../../runtime/system.ts'
import { connectSinkClickhouse } from '../../../../state/tables/connect.ts'
import { tableStore } from '../../../../state/tables/store.ts'
import { AT_FIRST_TRY, privateClickhouse, testStack } from '../../../stack/index.ts'
import { rowsOf, testDatabase } from '../../../state/tables/database.ts'
import { type Event, eventsTable } from '../../../state/tables/events-table.ts'
import { jsonTopic } from './json-topic.ts'
import { loneSeat } from './lone-seat.ts'
import { realBroker, silent } from './real-broker.ts'

const PARTITIONS = 2
const MONTH_END = Date.UTC(2026, 11, 1)
const EVENTS_PER_SIDE = 100
const PROCESS = fileURLToPath(new URL('./table-sink-process.ts', import.meta.url))
const DEADLINE_MS = 40_000
const eventually = <T>(look: () => Promise<T>) => expect.poll(look, { timeout: DEADLINE_MS, interval: 100 })

type Client = ReturnType<typeof connectSinkClickhouse>

/**
 * Creates events around midnight at the end of a month, so that every batch alternates between two partitions of the
 * table.
 */
function events(from: number, count: number): { partition: number; key: string; value: Event }[] {
  return Array.from({ length: count }, (_, index) => {
    const number = from + index
    const side = Math.floor(number / EVENTS_PER_SIDE) % 2 === 0 ? -1 : 1
    const at = MONTH_END + side * (1 + (number % EVENTS_PER_SIDE))
    return { partition: number % PARTITIONS, key: `key ${number}`, value: { id: `event ${number}`, at, rows: 2 } }
  })
}

/**
 * Creates the table before the sink starts. Disables merges and ClickHouse's deduplication of inserts, because both
 * would hide duplicate rows.
 */
async function makeTable(client: Client): Promise<void> {
  await tableStore(eventsTable, client, { cluster: undefined }).prepare()
  const merges = 'max_bytes_to_merge_at_max_space_in_pool = 1, max_bytes_to_merge_at_min_space_in_pool = 1'
  await client.command({ query: `ALTER TABLE events MODIFY SETTING ${merges}, non_replicated_deduplication_window = 0` })
}

/** Counts the rows of the table including duplicates, the distinct rows, and the distinct offsets. */
async function counted(client: Client): Promise<{ rows: number; distinct: number; offsets: number }> {
  const query = `SELECT toUInt32(count()) AS rows, toUInt32(uniqExact(id, number)) AS distinct, toUInt32(uniqExact(kafka_partition, kafka_offset)) AS offsets FROM events`
  const [found] = await rowsOf<{ rows: number; distinct: number; offsets: number }>(client, query)
  return found
}

const complete = (count: number) => ({ rows: 2 * count, distinct: 2 * count, offsets: count })

async function runSink(kafka: Awaited<ReturnType<typeof realBroker>>, topic: string, client: Client): Promise<Sink> {
  const target = await tableTarget(
    { table: eventsTable, limits: { maxRecords: 200, lingerMs: 20 } },
    tableStore(eventsTable, client, { cluster: undefined }),
  )
  const name = `sink-${topic}`
  const seat = loneSeat(kafka.transport, name, randomUUID())
  const options = { name, topics: [jsonTopic<Event>(topic, PARTITIONS)] }
  const sink = createSink(options, { transport: kafka.transport, registry: memoryRegistry(), target, seat, runtime: systemRuntime(silent) })
  sink.run().catch(() => {})
  onTestFinished(() => sink.stop())
  return sink
}

test(
  'a sink that is killed with -9 directly after an insert and before its commit neither duplicates nor loses rows',
  AT_FIRST_TRY,
  async () => {
    const broker = await testStack().kafka()
    const kafka = await realBroker(broker)
    const topic = await kafka.newTopic(PARTITIONS)
    const { url, database, client } = await testDatabase()
    await makeTable(client)
    await kafka.produce(topic, events(0, 2_000))
    const memberId = randomUUID()

    function start(dieAfter?: number): ChildProcess {
      const args = [PROCESS, broker, url, database, topic, memberId, ...(dieAfter === undefined ? [] : [String(dieAfter)])]
      const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] })
      onTestFinished(() => void child.kill('SIGKILL'))
      return child
    }

    // Kills the sink in the middle of a batch with rows for two partitions, and after complete batches.
    for (const dieAfter of [1, 2, 5]) {
      const [, signal] = await once(start(dieAfter), 'exit')
      expect(signal).toBe('SIGKILL')
      const { rows, offsets } = await counted(client)
      expect(rows).toBe(offsets * 2)
    }
    start()
    await kafka.produce(topic, events(2_000, 500))
    await eventually(() => counted(client)).toEqual(complete(2_500))
  },
)

test('a ClickHouse that is killed with -9 and restarted has every row once', AT_FIRST_TRY, async () => {
  const kafka = await realBroker(await testStack().kafka())
  const topic = await kafka.newTopic(PARTITIONS)
  const server = await privateClickhouse()
  const client = connectSinkClickhouse({ url: server.address })
  onTestFinished(() => client.close())
  await makeTable(client)
  const sink = await runSink(kafka, topic, client)
  let produced = 0
  for (let round = 0; round < 3; round++) {
    for (let part = 0; part < 5; part++) {
      await kafka.produce(topic, events(produced, 200))
      produced += 200
      if (part === 2) await server.kill()
    }
    await server.start()
    await eventually(() => counted(client)).toEqual(complete(produced))
  }
  expect(sink.metrics.retries).toBeGreaterThan(0)
})

test('a table that was dropped is filled again by the next sink', async () => {
  const kafka = await realBroker(await testStack().kafka())
  const topic = await kafka.newTopic(PARTITIONS)
  const { client } = await testDatabase()
  const first = await runSink(kafka, topic, client)
  await kafka.produce(topic, events(0, 300))
  await eventually(() => counted(client)).toEqual(complete(300))
  await first.stop()
  await client.command({ query: 'DROP TABLE events' })
  await runSink(kafka, topic, client)
  await eventually(() => counted(client)).toEqual(complete(300))
})

/** Creates a target. `write` inserts a single event, and `open` opens the partition for a log that ends at `end`. */
async function targetOf(client: Client) {
  const target = await tableTarget({ table: eventsTable }, tableStore(eventsTable, client, { cluster: undefined }))
  const partition = { topic: 'topic', partition: 0 }
  async function write(id: string, offset: number, expected: number | undefined): Promise<void> {
    const record = { offset, timestamp: 0, key: id, value: { id, at: MONTH_END } satisfies Event }
    await target.prepare({ partition, records: [record], expected, next: offset + 1, caughtUp: false })()
  }
  const open = (end: number, offset: number) =>
    target.open(partition, {
      start: 0,
      end,
      topicId: 'id',
      committed: { offset, metadata: target.commitMetadata as string },
      isBeyondEnd: async (position) => position > end,
    })
  return { write, open }
}

const idsOf = async (client: Client) => (await rowsOf<{ id: string }>(client, 'SELECT id FROM events ORDER BY id')).map(({ id }) => id)

test('new records are inserted even if the log has lost records with the same offsets', async () => {
  const { client } = await testDatabase()
  const { write } = await targetOf(client)
  await write('kept', 0, undefined)
  await write('lost', 1, 1)
  await write('new', 1, 2)
  expect(await idsOf(client)).toEqual(['kept', 'lost', 'new'])
})

test('rows that were deleted after the log had lost its end are inserted again', async () => {
  const { client } = await testDatabase()
  const { write, open } = await targetOf(client)
  expect(await open(0, 0)).toBe(0)
  await write('kept', 0, 0)
  await write('lost', 1, 1)
  await expect(open(1, 2)).rejects.toThrow('delete the rows of this topic')
  await client.command({ query: 'ALTER TABLE events DELETE WHERE 1', clickhouse_settings: { mutations_sync: '2' } })
  expect(await open(1, 2)).toBeUndefined()
  await write('kept', 0, undefined)
  expect(await idsOf(client)).toEqual(['kept'])
})

test('two sinks share the partitions, and a third takes over from one that stops', async () => {
  const kafka = await realBroker(await testStack().kafka())
  const topic = await kafka.newTopic(PARTITIONS)
  const { client } = await testDatabase()
  await makeTable(client)
  const one = await runSink(kafka, topic, client)
  await kafka.produce(topic, events(0, 500))
  const two = await runSink(kafka, topic, client)
  await kafka.produce(topic, events(500, 500))
  await eventually(async () => [one.lanes().length, two.lanes().length]).toEqual([1, 1])
  await kafka.produce(topic, events(1_000, 500))
  await runSink(kafka, topic, client)
  await one.stop()
  await kafka.produce(topic, events(1_500, 500))
  await eventually(() => counted(client)).toEqual(complete(2_000))
})
