import { expect, onTestFinished, test } from 'vitest'
import { memoryBroker } from '../../../../kafka/memory/broker.ts'
import { memoryRegistry } from '../../../../kafka/memory/registry.ts'
import { memoryTransport } from '../../../../kafka/memory/transport.ts'
import { createSink } from '../../../../pipelines/engine/sinks/sink.ts'
import { viewTarget } from '../../../../pipelines/engine/sinks/view-target.ts'
import { systemRuntime } from '../../../../runtime/system.ts'
import { utf8 } from '../../../../schemas/keys.ts'
import { rawValue } from '../../../../schemas/raw.ts'
import type { Topic } from '../../../../schemas/topic.ts'
import { TargetUnavailableError } from '../../../../state/unavailable.ts'
import type { ViewPosition, ViewStore } from '../../../../state/views/apply.ts'
import { loneSeat } from './lone-seat.ts'
import { valuesView } from './values-view.ts'

/** How long the topic keeps tombstones. */
const RETENTION_MS = 400
const DEADLINE_MS = 8_000
const MEGABYTE = 1_000_000
/**
 * Number of records of one megabyte that are more than enough to fill the buffer. The sink stops fetching at 4 MiB of
 * waiting records.
 */
const BUFFERED_RECORDS = 6
const facts: Topic<string, string> = {
  name: 'facts',
  key: utf8,
  value: rawValue(utf8),
  partitions: 1,
  config: { 'cleanup.policy': 'compact', 'delete.retention.ms': String(RETENTION_MS) },
}

/** A view in memory that can become unavailable. */
function memoryViews() {
  const values = new Map<string, unknown>()
  const control = { down: false, clearings: 0 }
  let stored: ViewPosition | undefined

  async function whenUp<T>(answer: () => T): Promise<T> {
    if (control.down) throw new TargetUnavailableError('the view is unavailable')
    return answer()
  }

  const store: ViewStore = {
    apply: ({ expected, next, operations, completeAt, now }) =>
      whenUp(() => {
        if (stored?.next !== expected) return { applied: false, position: stored?.next }
        for (const operation of operations) {
          if (operation.op === 'set') values.set(operation.key, operation.value)
          if (operation.op === 'del') values.delete(operation.key)
        }
        stored = { next, at: completeAt ?? stored?.at ?? now }
        return { applied: true }
      }),
    position: () => whenUp(() => stored),
    read: (keys) => whenUp(() => keys.map(() => null)),
    clear: () =>
      whenUp(() => {
        control.clearings++
        stored = undefined
        values.clear()
      }),
    finishClearing: () => whenUp(() => undefined),
  }
  const has = (key: string) => values.has(`{values:0}:value:${key}`)
  return { store, control, has }
}

test('a view that was unavailable for longer than its topic keeps tombstones is rebuilt while its sink continues to run', async () => {
  const broker = memoryBroker()
  broker.createTopic({ name: 'facts', partitions: 1 })
  const views = memoryViews()
  const transport = memoryTransport(broker)
  const runtime = systemRuntime()
  const target = viewTarget({ view: valuesView('values'), topics: [facts] }, { store: views.store, runtime })
  const seat = loneSeat(transport, 'values-view', 'one')
  const sink = createSink({ name: 'values-view', topics: [facts] }, { transport, registry: memoryRegistry(), target, seat, runtime })
  sink.run().catch(() => {})
  onTestFinished(() => sink.stop())

  const append = (key: string, value: string | null) =>
    broker.append('facts', 0, { timestamp: 0, key: Buffer.from(key), value: value === null ? null : Buffer.from(value), headers: [] })
  const eventually = <T>(look: () => T) => expect.poll(look, { timeout: DEADLINE_MS, interval: 10 })
  append('gone', 'old')
  append('kept', 'old')
  await eventually(() => views.has('gone') && sink.isReady).toBe(true)

  views.control.down = true
  for (let record = 0; record < BUFFERED_RECORDS; record++) append('large', 'x'.repeat(MEGABYTE))
  await eventually(() => sink.lanes()[0].queuedBytes).toBeGreaterThan(4 * MEGABYTE)
  append('gone', null)
  append('last', 'new')
  await runtime.sleep(2 * RETENTION_MS)
  broker.log('facts', 0).compact()
  views.control.down = false

  await eventually(() => views.has('last') && sink.isReady).toBe(true)
  expect(views.has('gone')).toBe(false)
  expect(views.has('kept')).toBe(true)
  expect(views.control.clearings).toBe(1)
})
