import { partitionKey, type Transport, type WorkerProducer } from '../../kafka/transport.ts'
import { TIMED } from './topology.ts'

/** About what a card's last payments are in job J2. */
const VALUE_BYTES = 150
const FLUSH_RECORDS = 50_000
const SEND_EVERY_MS = 10
const READ_WAIT_MS = 20
const MS_PER_SECOND = 1_000
const TIME_AT = 1

export const keyOf = (number: number, partition: number) => Buffer.from(`key-${partition}-${number}`)

/** Writes every key once, the same number in each partition. */
export async function fill(transport: Transport, topic: string, partitions: number, keys: number, rounds = 1): Promise<void> {
  const producer = transport.producer({})
  await producer.init()
  const value = Buffer.alloc(VALUE_BYTES, 'v')
  const perPartition = Math.ceil(keys / partitions)
  let written = 0
  for (let round = 0; round < rounds; round++) {
    for (let number = 0; number < perPartition; number++) {
      for (let partition = 0; partition < partitions; partition++) {
        const key = keyOf(number, partition)
        producer.appender(topic, partition).append(Date.now(), key, 0, key.length, value, 0, value.length)
        if (++written % FLUSH_RECORDS === 0) await producer.commit(new Map(), undefined)
      }
    }
  }
  await producer.commit(new Map(), undefined)
  await producer.close()
}

/** A steady stream through the workers, and how long its records took, partition by partition. */
export interface TimedStream {
  /** Greatest time between sending and being seen by a read_committed reader since the last call, ms, by partition; what is on its way counts with its age. */
  takeLongest(): number[]
  stop(): Promise<void>
}

/** Sends `rate` records a second over all partitions, to keys that exist. */
export async function timedStream(
  transport: Transport,
  { input, output, partitions, keys, rate }: { input: string; output: string; partitions: number; keys: number; rate: number },
): Promise<TimedStream> {
  const producer: WorkerProducer = transport.producer({})
  await producer.init()
  const fetcher = transport.fetcher({ maxWaitMs: READ_WAIT_MS })
  const assigned = Array.from({ length: partitions }, (_, partition) => ({ topic: output, partition }))
  const ends = await transport.offsets(assigned, 'end')
  for (const each of assigned) fetcher.assign(each, ends.get(partitionKey(each.topic, each.partition)) ?? 0, 'earliest')

  const perPartition = Math.ceil(keys / partitions)
  /** Send times of what was not seen yet, oldest first, by partition. */
  const underWay: number[][] = assigned.map(() => [])
  let longest = assigned.map(() => 0)
  let running = true
  let sent = 0

  async function send(): Promise<void> {
    const startedAt = performance.now()
    while (running) {
      const due = Math.floor(((performance.now() - startedAt) * rate) / MS_PER_SECOND)
      for (; sent < due; sent++) {
        const partition = sent % partitions
        const key = keyOf(sent % perPartition, partition)
        const value = Buffer.alloc(VALUE_BYTES, 'v')
        const now = performance.now()
        value[0] = TIMED
        value.writeDoubleBE(now, TIME_AT)
        producer.appender(input, partition).append(Date.now(), key, 0, key.length, value, 0, value.length)
        underWay[partition].push(now)
      }
      await producer.commit(new Map(), undefined)
      await new Promise((resolve) => setTimeout(resolve, SEND_EVERY_MS))
    }
  }

  async function read(): Promise<void> {
    while (running) {
      for (const { partition, chunks } of await fetcher.poll(READ_WAIT_MS)) {
        const now = performance.now()
        for (const { buffer, count, valueStart } of chunks) {
          for (let i = 0; i < count; i++) {
            const sentAt = buffer.readDoubleBE(valueStart[i] + TIME_AT)
            longest[partition] = Math.max(longest[partition], now - sentAt)
            const queue = underWay[partition]
            if (queue[0] !== sentAt) throw new Error(`partition ${partition}: a record was lost, doubled or out of order`)
            queue.shift()
          }
        }
      }
    }
  }

  const both = Promise.all([send(), read()])
  both.catch(() => {}) // `stop` tells.
  return {
    takeLongest() {
      const now = performance.now()
      const taken = longest.map((ms, partition) => Math.max(ms, underWay[partition].length > 0 ? now - underWay[partition][0] : 0))
      longest = assigned.map(() => 0)
      return taken
    },
    async stop() {
      running = false
      await both
      await producer.close()
      await fetcher.close()
    },
  }
}
