import { setImmediate as nextTurn } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import { memoryBroker } from '../../../../../kafka/memory/broker.ts'
import { memoryRegistry } from '../../../../../kafka/memory/registry.ts'
import { memoryTransport } from '../../../../../kafka/memory/transport.ts'
import type { Transport } from '../../../../../kafka/transport.ts'
import { DELIVERED, type DeliveryOutcome } from '../../../../../pipelines/engine/sinks/deliveries/delivery.ts'
import { createSink, type Sink } from '../../../../../pipelines/engine/sinks/sink.ts'
import { sinkGroup } from '../../../../../pipelines/engine/sinks/sink-group.ts'
import { manualRuntime } from '../../../../../runtime/manual.ts'
import { jsonTopic } from '../json-topic.ts'

export const SINK = 'courier'
export const TOPIC = 'letters'
export const RETRIES = `${SINK}-retries`

export interface Call {
  readonly value: string
  /** Epoch ms. */
  readonly at: number
}

export interface WorldOptions {
  readonly partitions?: number
  readonly concurrency?: number
  readonly giveUpAfterMs?: number
  readonly deadLetters?: boolean
  /** Simulated time between two checks of a condition, in ms. */
  readonly tickMs?: number
}

/**
 * Creates an in-memory broker and a fake receiver. `run` starts a sink that delivers to the receiver. During a test,
 * time passes only in `until`, `pass` and `stop`.
 */
export function world({ partitions = 1, concurrency = 8, giveUpAfterMs, deadLetters, tickMs = 20 }: WorldOptions = {}) {
  const runtime = manualRuntime()
  const broker = memoryBroker({ runtime })
  broker.createTopic({ name: TOPIC, partitions })
  const calls: Call[] = []
  const control = {
    /** Returns the outcome of an attempt, possibly after a wait. */
    answer: (_value: string, _attempt: number): DeliveryOutcome | Promise<DeliveryOutcome> => DELIVERED,
    running: 0,
    mostRunning: 0,
  }
  let processes = 0

  function append(value: string, partition = 0): void {
    broker.append(TOPIC, partition, {
      timestamp: runtime.now(),
      key: Buffer.from(value),
      value: Buffer.from(JSON.stringify(value)),
      headers: [{ key: 'trace', value: Buffer.from('own') }],
    })
  }

  async function deliver(value: string): Promise<DeliveryOutcome> {
    calls.push({ value, at: runtime.now() })
    control.running++
    control.mostRunning = Math.max(control.mostRunning, control.running)
    try {
      return await control.answer(value, attempts(value))
    } finally {
      control.running--
    }
  }

  function attempts(value: string): number {
    return calls.filter((call) => call.value === value).length
  }

  /** Starts a process with the sink. The process is the only member of its group, as if its predecessor had died. */
  function run(transport: Transport = memoryTransport(broker)): Sink & { crash(): void } {
    const seat = sinkGroup({ groupId: `members-${++processes}`, memberId: 'only' }, { transport, runtime }).seat()
    let isDead = false
    const target = {
      name: 'receiver',
      concurrency,
      ...(giveUpAfterMs === undefined ? {} : { giveUpAfterMs }),
      deliver: async ({ value }: { value: unknown }) => (isDead ? await never() : await deliver(String(value))),
    }
    const dying: Transport = {
      ...transport,
      memberlessGroup(groupId) {
        const group = transport.memberlessGroup(groupId)
        return { ...group, commit: async (offsets) => (isDead ? await never() : await group.commit(offsets)) }
      },
      publisher(options) {
        const publisher = transport.publisher(options)
        return {
          ...publisher,
          appender(topic, partition) {
            const appender = publisher.appender(topic, partition)
            return { ...appender, append: (...record) => (isDead ? undefined : appender.append(...record)) }
          },
        }
      },
    }
    const topics = [jsonTopic<string>(TOPIC, partitions)]
    const sink = createSink({ name: SINK, topics, deadLetters }, { transport: dying, registry: memoryRegistry(), target, seat, runtime })
    sink.run().catch(() => {})
    async function stop(): Promise<void> {
      const stopping = sink.stop()
      let isOver = false
      void stopping.then(() => {
        isOver = true
      })
      while (!isOver) await pass(tickMs)
    }
    onTestFinished(() => {
      void sink.stop()
      runtime.advance(60_000)
    })
    return {
      ...sink,
      get isReady() {
        return sink.isReady
      },
      get deliveries() {
        return sink.deliveries
      },
      stop,
      /** Simulates the death of the process: none of its later actions has an effect. */
      crash() {
        isDead = true
      },
    }
  }

  async function pass(ms: number): Promise<void> {
    runtime.advance(ms)
    for (let turn = 0; turn < 4; turn++) await nextTurn()
  }

  /** Lets time pass until the condition holds. */
  async function until(condition: () => boolean, withinMs = 60_000, stepMs = tickMs): Promise<void> {
    const end = runtime.now() + withinMs
    while (!condition()) {
      if (runtime.now() > end) throw new Error(`still not true after ${withinMs} ms: ${condition}`)
      await pass(stepMs)
    }
  }

  const committed = () => broker.groups.committed(SINK).get(`${TOPIC}-0`)
  const texts = (topic: string) => (broker.topics().includes(topic) ? broker.records(topic).map(({ value }) => String(value)) : [])

  return { runtime, broker, control, calls, append, attempts, run, pass, until, committed, texts }
}

function never(): Promise<never> {
  return new Promise(() => {})
}

/** Returns a header as text. */
export function headerOf(record: { readonly headers: readonly { key: string; value: Buffer | null }[] }, name: string): string | undefined {
  return record.headers.find(({ key }) => key === name)?.value?.toString()
}
