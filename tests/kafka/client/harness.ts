import { randomUUID } from 'node:crypto'
import { pino } from 'pino'
import { onTestFinished } from 'vitest'
import { waitUntil } from '../../../deploy/local/wait.ts'
import { type KafkaOptions, kafkaTransport } from '../../../kafka/client/index.ts'
import { headersOf } from '../../../kafka/record-batch/chunk.ts'
import {
  type Fetcher,
  type FetcherOptions,
  type GroupEvent,
  type GroupMember,
  type PartitionData,
  partitionKey,
  type TopicPartition,
  type Transport,
  type WorkerProducer,
} from '../../../kafka/transport.ts'
import { systemRuntime } from '../../../runtime/system.ts'
import { uniqueName } from '../../stack/index.ts'

/** Usual time limit of a wait in these tests. */
export const DEADLINE_MS = 30_000

export const silent = pino({ level: process.env.KAFKA_TEST_LOG ?? 'silent' })

/** Connects a transport. It is closed when the test ends. */
export async function connected(brokers: string, options: Partial<KafkaOptions> = {}): Promise<Transport> {
  const transport = kafkaTransport({ brokers: [brokers], clientId: 'test', ...options }, { runtime: systemRuntime(silent) })
  onTestFinished(() => transport.close())
  await transport.connect()
  return transport
}

export async function newTopic(transport: Transport, partitions = 1, config: Record<string, string> = {}): Promise<string> {
  const name = uniqueName('topic')
  // Records from `append` have timestamps in 1970, so the broker's first retention check would delete them.
  await transport.ensureTopics([{ name, partitions, config: { 'retention.ms': '-1', ...config } }])
  return name
}

export async function newProducer(
  transport: Transport,
  transactionalId: string | undefined = uniqueName('producer'),
): Promise<WorkerProducer> {
  const producer = transport.producer({ transactionalId })
  await producer.init()
  return producer
}

export function append(producer: WorkerProducer, topic: string, partition: number, ...texts: string[]): void {
  for (const text of texts) {
    const value = Buffer.from(text)
    producer.appender(topic, partition).append(1_000, null, 0, 0, value, 0, value.length)
  }
}

export async function commit(producer: WorkerProducer): Promise<Map<string, number>> {
  return producer.commit(new Map(), undefined)
}

export interface ReadRecord {
  readonly offset: number
  readonly key: string | null
  readonly value: string | null
  readonly headers: Record<string, string | null>
}

export function flatten(data: readonly PartitionData[]): ReadRecord[] {
  return data.flatMap(({ chunks }) =>
    chunks.flatMap((chunk) =>
      Array.from({ length: chunk.count }, (_, i) => ({
        offset: chunk.offsets[i],
        key: chunk.keyStart[i] < 0 ? null : chunk.buffer.toString('utf8', chunk.keyStart[i], chunk.keyEnd[i]),
        value: chunk.valueStart[i] < 0 ? null : chunk.buffer.toString('utf8', chunk.valueStart[i], chunk.valueEnd[i]),
        headers: Object.fromEntries(headersOf(chunk, i).map(({ key, value }) => [key, value?.toString() ?? null])),
      })),
    ),
  )
}

/**
 * Polls until `enough` returns true for all data so far, and returns this data.
 * @throws Error after the deadline
 */
export async function pollUntil(
  fetcher: Fetcher,
  enough: (data: readonly PartitionData[]) => boolean,
  what: string,
): Promise<PartitionData[]> {
  const all: PartitionData[] = []
  const deadline = Date.now() + DEADLINE_MS
  while (!enough(all)) {
    if (Date.now() > deadline) throw new Error(`${what}: not within ${DEADLINE_MS} ms; ${flatten(all).length} records arrived`)
    all.push(...(await fetcher.poll(1_000)))
  }
  return all
}

/** Reads everything from `from` to the current high watermark, at the reader's isolation level. */
export async function readToEnd(
  transport: Transport,
  partition: TopicPartition,
  options: FetcherOptions & { from?: number } = {},
): Promise<ReadRecord[]> {
  const end = (await transport.offsets([partition], 'end')).get(partitionKey(partition.topic, partition.partition)) as number
  const fetcher = transport.fetcher({ maxWaitMs: 50, ...options })
  fetcher.assign(partition, options.from ?? 0, 'fail')
  try {
    return flatten(await pollUntil(fetcher, () => (fetcher.position(partition) as number) >= end, `the end ${end} of ${partition.topic}`))
  } finally {
    await fetcher.close()
  }
}

export function valuesOf(records: readonly ReadRecord[]): (string | null)[] {
  return records.map(({ value }) => value)
}

export function newMember(transport: Transport, groupId: string, topics: readonly string[], memberId: string = randomUUID()): GroupMember {
  return transport.groupMember({ groupId, memberId, topics })
}

/**
 * Waits for the next event.
 * @throws Error if the event is of another kind or does not arrive in time
 */
export async function nextEvent<Type extends GroupEvent['type']>(
  member: GroupMember,
  type: Type,
): Promise<Extract<GroupEvent, { type: Type }>> {
  let event: GroupEvent | undefined
  await waitUntil(
    () => {
      event = member.takeEvent()
      return event !== undefined
    },
    { what: `a group event "${type}"`, timeoutMs: DEADLINE_MS, intervalMs: 5 },
  )
  if (event?.type !== type) throw new Error(`expected ${type}, got ${JSON.stringify(event)}`)
  return event as Extract<GroupEvent, { type: Type }>
}

/** Takes and acknowledges assignments until the member owns exactly `count` partitions. */
export async function ownPartitions(member: GroupMember, count: number): Promise<readonly TopicPartition[]> {
  for (;;) {
    const { partitions } = await nextEvent(member, 'assignment')
    member.acknowledge(partitions)
    if (partitions.length === count) return partitions
  }
}

export function offsetsOf(partitions: readonly TopicPartition[], offset: number, metadata?: string) {
  return new Map(partitions.map((partition) => [partitionKey(partition.topic, partition.partition), { ...partition, offset, metadata }]))
}
