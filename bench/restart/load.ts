import { partitionKey, type Transport, type WorkerProducer } from '../../kafka/transport.ts'
import { TIMED } from './topology.ts'
import { SEQUENCE_AT, VALUE_BYTES } from './value-size.ts'

/** An encoded input record. */
interface InputRecord {
  readonly key: Buffer
  readonly value: Buffer
}

/** The format of the records that the load sends to a topology. */
export interface LoadFormat {
  /**
   * Creates the first record of a key.
   * @param number number of the key in its partition
   */
  first(number: number, partition: number): InputRecord
  /** Creates a record for an existing key. The latency of its result is measured. */
  timed(sequence: number, number: number, partition: number): InputRecord
  /** Returns the sequence number of the record that caused a result; undefined if the record created a key. */
  sequenceOf(buffer: Buffer, valueStart: number, valueEnd: number): number | undefined
  /** True if the results of each partition are in the order of their records. */
  readonly ordered: boolean
}

/** Total size of unsent values, in bytes, at which `fill` flushes its producer. */
const FLUSH_BYTES = 8 * 1_048_576
const SEND_EVERY_MS = 10
const READ_WAIT_MS = 20
const MS_PER_SECOND = 1_000

const keyOf = (number: number, partition: number) => Buffer.from(`key-${partition}-${number}`)

/** Creates the format of the topology that keeps the latest value of each key. */
export function latestFormat(valueBytes = VALUE_BYTES): LoadFormat {
  return {
    first: (number, partition) => ({ key: keyOf(number, partition), value: Buffer.alloc(valueBytes, 'v') }),
    timed(sequence, number, partition) {
      const value = Buffer.alloc(valueBytes, 'v')
      value[0] = TIMED
      value.writeDoubleBE(sequence, SEQUENCE_AT)
      return { key: keyOf(number, partition), value }
    },
    sequenceOf: (buffer, valueStart) => buffer.readDoubleBE(valueStart + SEQUENCE_AT),
    ordered: true,
  }
}

export interface Load {
  readonly input: string
  readonly output: string
  readonly partitions: number
  /** Number of keys over all partitions. */
  readonly keys: number
  readonly format: LoadFormat
}

/** Writes every key `rounds` times, with the same number of keys in each partition. */
export async function fill(
  transport: Transport,
  topic: string,
  { partitions, keys, format }: Pick<Load, 'partitions' | 'keys' | 'format'>,
  rounds = 1,
): Promise<void> {
  // Two producers take turns, so that one accepts records while the other waits for the broker.
  const producers = [transport.producer({}), transport.producer({})]
  for (const producer of producers) await producer.init()
  const commits: Promise<unknown>[] = []
  let [producer, other] = producers
  const perPartition = Math.ceil(keys / partitions)
  let unsentBytes = 0

  async function flush(): Promise<void> {
    unsentBytes = 0
    commits.push(producer.commit(new Map(), undefined))
    ;[producer, other] = [other, producer]
    if (commits.length === producers.length) await commits.shift()
  }

  for (let round = 0; round < rounds; round++) {
    for (let number = 0; number < perPartition; number++) {
      for (let partition = 0; partition < partitions; partition++) {
        const record = format.first(number, partition)
        append(producer, topic, partition, record)
        unsentBytes += record.value.length
        if (unsentBytes >= FLUSH_BYTES) await flush()
      }
    }
  }
  await flush()
  await Promise.all(commits)
  for (const each of producers) await each.close()
}

function append(producer: WorkerProducer, topic: string, partition: number, { key, value }: InputRecord): void {
  producer.appender(topic, partition).append(Date.now(), key, 0, key.length, value, 0, value.length)
}

/** A steady stream of records through the workers, with the latencies of each input partition. */
export interface TimedStream {
  /**
   * Returns, for each partition, the longest latency in ms since the last call. Latency is the time from sending a
   * record until a read_committed reader receives its result; for records still in flight, their age.
   */
  takeLongest(): number[]
  /** Returns the age of the oldest record in flight, in ms. */
  oldest(): number
  stop(): Promise<void>
}

/**
 * Sends `rate` records per second to existing keys in all partitions. A duplicate result, or an out-of-order result in
 * an ordered format, ends the stream with an error.
 */
export async function timedStream(
  transport: Transport,
  { input, output, partitions, keys, format }: Load,
  rate: number,
): Promise<TimedStream> {
  const producer: WorkerProducer = transport.producer({})
  await producer.init()
  const fetcher = transport.fetcher({ maxWaitMs: READ_WAIT_MS })
  const assigned = Array.from({ length: partitions }, (_, partition) => ({ topic: output, partition }))
  const ends = await transport.offsets(assigned, 'end')
  for (const each of assigned) fetcher.assign(each, ends.get(partitionKey(each.topic, each.partition)) ?? 0, 'earliest')

  const perPartition = Math.ceil(keys / partitions)
  /** For each partition, the send times of the records in flight by sequence number, oldest first. */
  const underWay = assigned.map(() => new Map<number, number>())
  let longest = assigned.map(() => 0)
  let running = true
  let sent = 0

  async function send(): Promise<void> {
    const startedAt = performance.now()
    while (running) {
      const due = Math.floor(((performance.now() - startedAt) * rate) / MS_PER_SECOND)
      for (; sent < due; sent++) {
        const partition = sent % partitions
        append(producer, input, partition, format.timed(sent, sent % perPartition, partition))
        underWay[partition].set(sent, performance.now())
      }
      await producer.commit(new Map(), undefined)
      await new Promise((resolve) => setTimeout(resolve, SEND_EVERY_MS))
    }
  }

  async function read(): Promise<void> {
    while (running) {
      for (const { chunks } of await fetcher.poll(READ_WAIT_MS)) {
        const now = performance.now()
        for (const { buffer, count, valueStart, valueEnd } of chunks) {
          for (let i = 0; i < count; i++) {
            const sequence = format.sequenceOf(buffer, valueStart[i], valueEnd[i])
            if (sequence !== undefined) arrived(sequence, now)
          }
        }
      }
    }
  }

  function arrived(sequence: number, now: number): void {
    const partition = sequence % partitions
    const waiting = underWay[partition]
    const sentAt = waiting.get(sequence)
    const isNext = !format.ordered || waiting.keys().next().value === sequence
    if (sentAt === undefined || !isNext) throw new Error(`partition ${partition}: a record was lost, duplicated or out of order`)
    waiting.delete(sequence)
    longest[partition] = Math.max(longest[partition], now - sentAt)
  }

  function ages(): number[] {
    const now = performance.now()
    return underWay.map((waiting) => (waiting.size === 0 ? 0 : now - (waiting.values().next().value as number)))
  }

  const both = Promise.all([send(), read()])
  both.catch(() => {}) // `stop` throws the error.
  return {
    takeLongest() {
      const now = ages()
      const taken = longest.map((ms, partition) => Math.max(ms, now[partition]))
      longest = assigned.map(() => 0)
      return taken
    },
    oldest: () => Math.max(...ages()),
    async stop() {
      running = false
      await both
      await producer.close()
      await fetcher.close()
    },
  }
}
