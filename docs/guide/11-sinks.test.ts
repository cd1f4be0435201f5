/**
 * # 11. Sinks
 *
 * A topology writes topics. People do not read topics: they look at web pages, which read Redis, and at reports, which read ClickHouse. A *sink*
 * copies a topic into such a store. Kafka's transactions end at Kafka, so how can a copy be exact?
 *
 * By a rule as old as databases: **the store keeps, in the same atomic step as the data, the offset up to which it has applied the topic.**
 * Then a record that is read twice is recognised, and a store that has been emptied says so, and is filled again from the log. The
 * offsets that the sink commits in Kafka are for lag monitors only.
 *
 * You need chapter 1.
 */

import { expect, onTestFinished, test } from 'vitest'
import {
  createSink,
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

/** Key: the station. Value: what happened there. `rawValue` is for values that a codec alone describes, without a schema. */
const events: Topic<string, string> = { name: 'station-events', key: utf8, value: rawValue(utf8), partitions: 1 }
/** Key: the station. Value: the line that its display shows. */
const lines: Topic<string, string> = { name: 'display-lines', key: utf8, value: rawValue(utf8), partitions: 1 }

const displays = topology('displays', (t) => {
  t.source(events).process('write', { emits: [lines] }, (event, ctx) => ctx.emit(lines, ctx.key, `${ctx.key}: ${event}`))
})

/*
 * ## A target
 *
 * The engine comes with two targets: `viewTarget` for views in Redis (one script call per batch, which moves the offset or changes nothing) and
 * `tableTarget` for tables in ClickHouse (rows carry their offsets, so the table itself says how far it is). This chapter writes a
 * third, for the displays at the stations, to show what any target must do:
 *
 * - `open` says where the target stands: the next offset that it lacks, or undefined when it holds nothing.
 * - `prepare` works out what a batch means and returns a function that writes it. That function may be called again when nobody knows whether
 *   the first call was applied, and must then change nothing.
 * - A target that is away throws `TargetUnavailableError`: the sink keeps the batch and tries again, with growing pauses. Meanwhile the
 *   partition is not fetched any more, so a slow target fills no memory.
 */
interface Displays {
  next: number | undefined
  readonly shown: Map<string, string>
  /** How often something was written to a display. */
  writes: number
  /** The next write is applied, but its answer gets lost. */
  losesAnswer: boolean
}

function displayTarget(displays: Displays): SinkTarget {
  return {
    name: 'displays',
    limits: { maxRecords: 100, maxBytes: 100_000, lingerMs: 0 },
    probeEveryMs: 20, // how soon it is seen that the displays were emptied
    async open() {
      return displays.next
    },
    prepare: ({ records, expected, next }) =>
      async function showBatch() {
        if (displays.next !== expected) return { outcome: displays.next === next ? 'applied' : 'elsewhere' }
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
 * A sink runs by itself, beside the test. Here it reads from the driver's broker; in a worker process it would be the
 * real one. Kafka divides the partitions among the members of a consumer group. The sinks of a process that write to the
 * same store share one member, and each has a seat in it. The offsets are committed under the sink's own name.
 */
function runSink(driver: TestDriver, displays: Displays): Sink {
  const transport = memoryTransport(driver.broker)
  const runtime = systemRuntime()
  const group = sinkGroup({ groupId: 'sinks-displays', memberId: 'displays-0' }, { transport, runtime })
  const deps = { transport, registry: memoryRegistry(), target: displayTarget(displays), seat: group.seat(), runtime }
  const sink = createSink({ name: 'display-sink', topics: [lines] }, deps)
  sink.run().catch(() => {})
  onTestFinished(() => sink.stop())
  return sink
}

/** A sink works beside the test, so the test waits for what it should see, and gives up after a while. */
const DEADLINE_MS = 10_000
const eventually = <T>(look: () => T) => expect.poll(look, { timeout: DEADLINE_MS, interval: 10 })

test('every line is shown, and the sink says when it has caught up', async () => {
  const driver = testDriver(displays)
  driver.pipe(events, 'harbour', '3 bikes')
  driver.pipe(events, 'museum', 'empty')
  const board = newDisplays()
  const sink = runSink(driver, board)

  // Until then a reader must not believe that something is absent: Millrace's APIs answer 503 `not_ready`.
  await eventually(() => sink.isReady).toBe(true)
  expect([...board.shown.values()]).toEqual(['harbour: 3 bikes', 'museum: empty'])

  driver.pipe(events, 'harbour', '2 bikes')
  await eventually(() => board.shown.get('harbour')).toBe('harbour: 2 bikes')
})

test('a write whose answer was lost is not done twice', async () => {
  const driver = testDriver(displays)
  const board = newDisplays()
  const sink = runSink(driver, board)
  await eventually(() => sink.isReady).toBe(true)

  board.losesAnswer = true
  driver.pipe(events, 'harbour', '3 bikes')
  driver.pipe(events, 'museum', 'empty')
  await eventually(() => sink.metrics.applied).toBe(2)
  expect(sink.metrics.retries).toBeGreaterThanOrEqual(1)
  expect(board.writes).toBe(2)
})

test('a restarted sink continues where the target stands', async () => {
  const driver = testDriver(displays)
  const board = newDisplays()
  driver.pipe(events, 'harbour', '3 bikes')
  const first = runSink(driver, board)
  await eventually(() => first.isReady).toBe(true)
  await first.stop()

  driver.pipe(events, 'museum', 'empty')
  const second = runSink(driver, board)
  await eventually(() => second.isReady).toBe(true)
  expect(board.writes).toBe(2)
})

/*
 * And the reason why it all pays: whatever happens to the target, nobody has to do anything.
 */
test('a target that was emptied is filled again', async () => {
  const driver = testDriver(displays)
  const board = newDisplays()
  driver.pipe(events, 'harbour', '3 bikes')
  const sink = runSink(driver, board)
  await eventually(() => sink.isReady).toBe(true)

  board.shown.clear()
  board.next = undefined
  await eventually(() => board.shown.get('harbour')).toBe('harbour: 3 bikes')
  expect(sink.metrics.rewinds).toBe(1)
})

/*
 * A record that cannot be decoded goes to the sink's own dead-letter topic, `<sink>-dead-letters`, before its neighbours are written.
 *
 * Read next: chapter 12, running. Sources: `pipelines/engine/sinks/target.ts`, `pipelines/engine/sinks/lane.ts` (one partition's way into a target), `state/views/view.ts`,
 * `state/tables/table.ts`.
 */
