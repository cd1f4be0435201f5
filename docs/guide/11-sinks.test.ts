/**
 * # 11. Sinks
 *
 * A topology writes to topics, but web pages get their data from Redis, and reports from ClickHouse. A *sink* copies a
 * topic into such a database. Kafka's transactions do not include other databases, so how can a copy be exact?
 *
 * Sinks follow a well-known rule: **the database keeps the offset up to which the topic has been applied to it, and
 * updates the offset in the same atomic step as the data.** The sink then recognises a record that it reads twice. It
 * also notices if the database has lost its data, and fills it again from the topic. The offsets that the sink commits
 * to Kafka show its lag. A table sink also continues from them if its last records have no rows in the table, for
 * example because these rows have expired.
 *
 * You need chapter 1.
 */

import { expect, onTestFinished, test } from 'vitest'
import {
  createSink,
  DELIVERED,
  type DeliveryTarget,
  rawValue,
  type Sink,
  type SinkTarget,
  sinkGroup,
  systemRuntime,
  TargetUnavailableError,
  type Topic,
  topology,
  utf8,
} from '../../pipelines/engine/index.ts'
import { memoryRegistry, memoryTransport, type TestDriver, testDriver } from '../../pipelines/engine/testing.ts'

/** Key: the station. Value: an event at the station. `rawValue` is for values that need only a codec and no schema. */
const events: Topic<string, string> = { name: 'station-events', key: utf8, value: rawValue(utf8), partitions: 1 }
/** Key: the station. Value: the line of text on the station's display. */
const lines: Topic<string, string> = { name: 'display-lines', key: utf8, value: rawValue(utf8), partitions: 1 }

const displays = topology('displays', (t) => {
  t.source(events).process('write', { emits: [lines] }, (event, ctx) => ctx.emit(lines, ctx.key, `${ctx.key}: ${event}`))
})

/*
 * ## A target
 *
 * A *target* connects a sink to a kind of database. The engine has three targets. `viewTarget` is for views in Redis:
 * each batch is one call of a script, which either writes the data and the new offset or changes nothing. `tableTarget`
 * is for tables in ClickHouse: rows contain their offsets, so the position can be read from the table itself.
 * `indexTarget` is for indexes in OpenSearch: the version of a document is the offset of its record, so a repeated
 * write changes nothing. This chapter implements another target, for the displays at the stations, to show what a
 * target must do:
 *
 * - `open` returns the position of the target: the first offset that it lacks, or undefined if the target is empty.
 * - `prepare` computes the changes of a batch and returns a function that writes them. The sink calls that function
 *   again if it does not know whether the first call was applied. If it was, the second call must change nothing.
 * - A target that is down throws `TargetUnavailableError`. The sink keeps the batch and retries with growing pauses.
 *   While more than 4 MiB of records wait, it does not fetch from the partition, so that they do not fill the memory.
 */
interface Displays {
  next: number | undefined
  readonly shown: Map<string, string>
  /** Number of lines written to displays. */
  writes: number
  /** If true, the next write is applied but its answer is lost. */
  losesAnswer: boolean
}

function displayTarget(displays: Displays): SinkTarget {
  return {
    name: 'displays',
    limits: { maxRecords: 100, maxBytes: 100_000, lingerMs: 0 },
    probeEveryMs: 20, // determines how soon the sink notices that the displays have lost their data
    async open() {
      return displays.next
    },
    prepare: ({ records, expected, next }) =>
      async function showBatch() {
        if (displays.next !== expected) return { outcome: displays.next === next ? 'applied' : 'offset-mismatch' }
        for (const { key, value } of records) {
          displays.shown.set(String(key), String(value))
          displays.writes++
        }
        displays.next = next
        if (displays.losesAnswer) {
          displays.losesAnswer = false
          throw new TargetUnavailableError('the connection broke')
        }
        return { outcome: 'applied' }
      },
  }
}

const newDisplays = (): Displays => ({ next: undefined, shown: new Map(), writes: 0, losesAnswer: false })

/*
 * A sink runs in the background of the test. Here, it reads from the driver's broker; in a worker process, it reads
 * from the real broker. Kafka divides the partitions among the members of a consumer group. The sinks of a process that
 * write to the same database share one member of the group, but each sink commits offsets under its own name.
 */
function runSink(driver: TestDriver, target: SinkTarget | DeliveryTarget): Sink {
  const transport = memoryTransport(driver.broker)
  const runtime = systemRuntime()
  const group = sinkGroup({ groupId: 'sinks-displays', memberId: 'displays-0' }, { transport, runtime })
  const deps = { transport, registry: memoryRegistry(), target, seat: group.seat(), runtime }
  const sink = createSink({ name: 'display-sink', topics: [lines] }, deps)
  sink.run().catch(() => {})
  onTestFinished(() => sink.stop())
  return sink
}

/** The sink runs concurrently, so the test polls for the expected result until a deadline. */
const DEADLINE_MS = 10_000
const eventually = <T>(look: () => T) => expect.poll(look, { timeout: DEADLINE_MS, interval: 10 })

test('every line is shown, and the sink reports when it has caught up', async () => {
  const driver = testDriver(displays)
  driver.pipe(events, 'harbour', '3 bikes')
  driver.pipe(events, 'museum', 'empty')
  const board = newDisplays()
  const sink = runSink(driver, displayTarget(board))

  // Before the sink is ready, a reader must not conclude that a value is absent. Until then, Millrace's APIs
  // respond with 503 `not_ready`.
  await eventually(() => sink.isReady).toBe(true)
  expect([...board.shown.values()]).toEqual(['harbour: 3 bikes', 'museum: empty'])

  driver.pipe(events, 'harbour', '2 bikes')
  await eventually(() => board.shown.get('harbour')).toBe('harbour: 2 bikes')
})

test('a write whose answer was lost is not applied twice', async () => {
  const driver = testDriver(displays)
  const board = newDisplays()
  const sink = runSink(driver, displayTarget(board))
  await eventually(() => sink.isReady).toBe(true)

  board.losesAnswer = true
  driver.pipe(events, 'harbour', '3 bikes')
  driver.pipe(events, 'museum', 'empty')
  await eventually(() => sink.metrics.applied).toBe(2)
  expect(sink.metrics.retries).toBeGreaterThanOrEqual(1)
  expect(board.writes).toBe(2)
})

test('a restarted sink continues at the position of the target', async () => {
  const driver = testDriver(displays)
  const board = newDisplays()
  driver.pipe(events, 'harbour', '3 bikes')
  const first = runSink(driver, displayTarget(board))
  await eventually(() => first.isReady).toBe(true)
  await first.stop()

  driver.pipe(events, 'museum', 'empty')
  const second = runSink(driver, displayTarget(board))
  await eventually(() => second.isReady).toBe(true)
  expect(board.writes).toBe(2)
})

// This is the benefit of storing offsets with the data: a target that loses its data recovers without an operator.
test('a target that has lost its data is filled again', async () => {
  const driver = testDriver(displays)
  const board = newDisplays()
  driver.pipe(events, 'harbour', '3 bikes')
  const sink = runSink(driver, displayTarget(board))
  await eventually(() => sink.isReady).toBe(true)

  board.shown.clear()
  board.next = undefined
  await eventually(() => board.shown.get('harbour')).toBe('harbour: 3 bikes')
  expect(sink.metrics.rewinds).toBe(1)
})

/*
 * ## A receiver without offsets
 *
 * Some receivers do not store offsets. A web server, for example, accepts one record per request, and some requests
 * fail. For such receivers, a sink has a `DeliveryTarget`, and delivers many records at the same time and in no
 * particular order. A record whose delivery failed waits in the topic `<sink>-retries`, so that it delays no other
 * record. If it still cannot be delivered after a day, it becomes a dead letter. Since the receiver stores no offset, a
 * restarted sink continues at the offsets that it has committed to Kafka. After a crash, it may deliver a record again,
 * so receivers must recognise repeated records by their ids. In the target for a web server, use `httpSender`: it sends
 * messages with POST, limits the duration of a request, and reads only the beginning of a long response.
 */
test('a failed delivery is retried, and does not hold up other records', async () => {
  const driver = testDriver(displays)
  driver.pipe(events, 'harbour', '3 bikes')
  driver.pipe(events, 'museum', 'empty')
  const attempts: string[] = []
  const target: DeliveryTarget = {
    name: 'operator',
    concurrency: 10,
    async deliver({ key }) {
      attempts.push(String(key))
      const isBusy = key === 'harbour' && attempts.length === 1
      return isBusy ? { outcome: 'failed', code: 'busy', message: 'the line is busy', retryAfterMs: 1 } : DELIVERED
    },
  }
  const sink = runSink(driver, target)
  await eventually(() => sink.deliveries?.delivered).toBe(2)
  expect(attempts).toEqual(['harbour', 'museum', 'harbour'])
})

/*
 * A sink writes records that it cannot decode to its own dead-letter topic, `<sink>-dead-letters`, before it writes the
 * other records of the batch to the target.
 *
 * Read next: chapter 12, running. Sources: `pipelines/engine/sinks/target.ts`, `pipelines/engine/sinks/lane.ts` (how
 * the records of one partition reach a target), `state/views/view.ts`, `state/tables/table.ts`.
 */
