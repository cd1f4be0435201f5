/**
 * A stateless topology that copies orders while the shop (`shop.ts`) runs. It must copy each of them exactly once
 * and keep the sequence within each partition, even if partitions are added to the source in the meantime.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Transport, WorkerProducer } from '../../kafka/transport.ts'
import { rawValue, type Topic, type Topology, topology, utf8 } from '../../pipelines/engine/index.ts'
import { integer, seededRandom } from '../../tools/random/random.ts'
import type { Log } from './expected.ts'
import { logReader } from './log-reader.ts'
import { isPassing, untilDone } from './passing.ts'

const ORDER_PARTITIONS = 2
const BATCH_EVERY_MS = 50
const ORDERS_PER_BATCH = 10
const MAX_SHOWN = 4

export function copyTopics(name: string): { readonly orders: Topic<string, string>; readonly copies: Topic<string, string> } {
  const topic = (suffix: string, partitions: number) => ({ name: `${name}-${suffix}`, key: utf8, value: rawValue(utf8), partitions })
  return { orders: topic('orders', ORDER_PARTITIONS), copies: topic('copies', 1) }
}

export function copying(name: string): Topology {
  const { orders, copies } = copyTopics(name)
  return topology(`${name}-copying`, (t) => {
    t.source(orders).process('copy', { emits: [copies] }, function copy(id, ctx) {
      ctx.emit(copies, ctx.key, id)
    })
  })
}

interface OrderOptions {
  readonly seed: number
  readonly durationMs: number
}

export interface OrderLog {
  readonly topic: string
  /** Number of partitions at the beginning. */
  readonly partitions: number
  /** Called with the new number of partitions. From then on, the writer also sends orders to the new partitions. */
  grown(partitions: number): void
  produce(options: OrderOptions): Promise<void>
  /** Opens a reader of orders and copies. Must be called after the topic has its final number of partitions. */
  read(): { faults(): Promise<string[]>; close(): Promise<void> }
}

export function orderLog(transport: Transport, name: string): OrderLog {
  const { orders, copies } = copyTopics(name)
  let partitions = ORDER_PARTITIONS
  return {
    topic: orders.name,
    partitions,
    grown(count) {
      partitions = count
    },
    produce: (options) => produceOrders(transport, orders.name, () => partitions, options),
    read() {
      const all = { ...orders, partitions }
      const reader = logReader(transport, [all, copies])
      return {
        async faults() {
          await reader.catchUp()
          return copyFaults(reader.of(all), reader.of(copies))
        },
        close: () => reader.close(),
      }
    },
  }
}

/**
 * Writes orders for a while, without transactions. Orders that may have been lost are not sent again, because the
 * expected copies are computed from the log. The key of an order is its partition.
 */
async function produceOrders(transport: Transport, topic: string, partitions: () => number, options: OrderOptions): Promise<void> {
  const random = seededRandom(options.seed)
  const producer = transport.producer({})
  await untilDone(() => producer.init())
  const startAt = Date.now()
  for (let at = 0; at < options.durationMs; at += BATCH_EVERY_MS) {
    await delay(Math.max(0, startAt + at - Date.now()))
    for (let i = 0; i < ORDERS_PER_BATCH; i++) send(producer, topic, integer(random, partitions()), `${at}.${i}`)
    try {
      await producer.commit(new Map(), undefined)
    } catch (error) {
      if (!isPassing(error)) throw error
      await untilDone(() => producer.init())
    }
  }
  await producer.close()
}

function send(producer: WorkerProducer, topic: string, partition: number, id: string): void {
  const key = Buffer.from(String(partition))
  const value = Buffer.from(id)
  producer.appender(topic, partition).append(Date.now(), key, 0, key.length, value, 0, value.length)
}

/**
 * Compares the copies of each partition with its orders.
 * @returns the first deviation of each partition, for at most four partitions
 */
export function copyFaults(orders: Log<string>, copies: Log<string>): string[] {
  const copied = Map.groupBy(copies.flat(), ({ key }) => key)
  const faults = orders.flatMap((wanted, partition) => {
    const found = copied.get(String(partition)) ?? []
    const length = Math.max(wanted.length, found.length)
    const at = Array.from({ length }, (_, i) => i).find((i) => wanted[i]?.value !== found[i]?.value)
    if (at === undefined) return []
    return [
      `orders of partition ${partition}, copy ${at + 1}: ${found[at]?.value ?? 'missing'} instead of ${wanted[at]?.value ?? 'nothing'}`,
    ]
  })
  return faults.slice(0, MAX_SHOWN)
}
