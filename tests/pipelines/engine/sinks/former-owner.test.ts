import { expect, onTestFinished, test } from 'vitest'
import { memoryBroker } from '../../../../kafka/memory/broker.ts'
import { memoryRegistry } from '../../../../kafka/memory/registry.ts'
import { memoryTransport } from '../../../../kafka/memory/transport.ts'
import type { Transport } from '../../../../kafka/transport.ts'
import { createSink } from '../../../../pipelines/engine/sinks/sink.ts'
import { viewTarget } from '../../../../pipelines/engine/sinks/view-target.ts'
import { systemRuntime } from '../../../../runtime/system.ts'
import { utf8 } from '../../../../schemas/keys.ts'
import { rawValue } from '../../../../schemas/raw.ts'
import type { Topic } from '../../../../schemas/topic.ts'
import type { ViewStore } from '../../../../state/views/apply.ts'
import { loneSeat } from './lone-seat.ts'
import { valuesView } from './values-view.ts'

const facts: Topic<string, string> = { name: 'facts', key: utf8, value: rawValue(utf8), partitions: 1 }

/** A view in memory that contains the first two records of the partition. */
function memoryView() {
  const state = { next: 2, clearings: 0 }
  const store: ViewStore = {
    async apply({ expected, next }) {
      if (state.next !== expected) return { applied: false, position: state.next }
      state.next = next
      return { applied: true }
    },
    position: async () => ({ next: state.next, at: Date.now() }),
    read: async (keys) => keys.map(() => null),
    async clear() {
      state.clearings++
    },
    finishClearing: async () => undefined,
  }
  return { state, store }
}

test('a view is not cleared if the former owner of its partition still writes to the view while the new owner opens it', async () => {
  const broker = memoryBroker()
  broker.createTopic({ name: 'facts', partitions: 1 })
  const append = () => broker.append('facts', 0, { timestamp: 0, key: Buffer.from('key'), value: Buffer.from('value'), headers: [] })
  append()
  append()
  const { state, store } = memoryView()
  const plain = memoryTransport(broker)
  let isWritten = false
  const transport: Transport = {
    ...plain,
    async offsets(partitions, at) {
      const found = await plain.offsets(partitions, at)
      if (at === 'end' && !isWritten) {
        isWritten = true
        append()
        state.next = 3
      }
      return found
    },
  }
  const runtime = systemRuntime()
  const target = viewTarget({ view: valuesView('values'), topics: [facts] }, { store, runtime })
  const seat = loneSeat(transport, 'values-view', 'heir')
  const sink = createSink({ name: 'values-view', topics: [facts] }, { transport, registry: memoryRegistry(), target, seat, runtime })
  sink.run().catch(() => {})
  onTestFinished(() => sink.stop())
  await expect.poll(() => sink.isReady, { interval: 10 }).toBe(true)
  expect(isWritten).toBe(true)
  expect(state).toEqual({ next: 3, clearings: 0 })
})
