import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { diskFiles, type SpoolFiles } from '../../../../api/kit/spool/files.ts'
import { Spool } from '../../../../api/kit/spool/spool.ts'
import { SpoolingPublisher } from '../../../../api/kit/spool/spooling-publisher.ts'
import { memoryBroker } from '../../../../kafka/memory/broker.ts'
import { memoryRegistry } from '../../../../kafka/memory/registry.ts'
import { memoryTransport } from '../../../../kafka/memory/transport.ts'
import { openSerdes, type Serdes } from '../../../../kafka/serdes.ts'
import type { PublishAppender, Publisher } from '../../../../kafka/transport.ts'
import { systemRuntime } from '../../../../runtime/system.ts'
import { utf8 } from '../../../../schemas/keys.ts'
import { rawValue } from '../../../../schemas/raw.ts'
import type { Topic } from '../../../../schemas/topic.ts'

export const PARTITIONS = 3
export const MAX_RECORD_BYTES = 5_000
export const plain: Topic<string, string> = { name: 'plain', key: utf8, value: rawValue(utf8), partitions: PARTITIONS }
export const SOON = { timeout: 20_000, interval: 5 }
export const QUICK = { withinMs: 20, isDurable: true }

export async function spoolFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'spool-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

export interface WorldOptions {
  readonly folder?: string
  readonly maxBytes?: number
  readonly files?: SpoolFiles
  readonly broker?: ReturnType<typeof memoryBroker>
  readonly registry?: ReturnType<typeof memoryRegistry>
  /** The topics for which the process has schemas. Spooled records of other topics need the schema from the spool. */
  // biome-ignore lint/suspicious/noExplicitAny: topics of any values
  readonly topics?: readonly Topic<string, any>[]
  /** Whether the process has reached Kafka and the registry. */
  readonly isConnected?: boolean
  readonly retryUnreadableMs?: number
  /** Returns the time of the process in epoch ms. */
  readonly now?: () => number
  /** Delay, in ms, before the publisher that callers wait for sends a record. The background publisher has no delay. */
  readonly delayMs?: number
}

/** Wraps a publisher so that it sends each record only after `delayMs`. */
function delayed(inner: Publisher, delayMs: number): Publisher {
  let delays = 0
  return {
    ...inner,
    get pendingRecords() {
      return delays + inner.pendingRecords
    },
    appender(topic, partition) {
      const appender = inner.appender(topic, partition)
      function append(...record: Parameters<PublishAppender['append']>): void {
        delays++
        setTimeout(() => {
          delays--
          appender.append(...record)
        }, delayMs)
      }
      return { topic, partition, append }
    },
  }
}

/** Creates a publisher with a spool on an in-memory broker. `stop` makes the broker unresponsive. */
export async function spoolWorld(options: WorldOptions = {}) {
  const folder = options.folder ?? (await spoolFolder())
  const broker = options.broker ?? memoryBroker()
  const registry = options.registry ?? memoryRegistry()
  const topics = options.topics ?? [plain]
  if (options.broker === undefined)
    for (const { name } of topics)
      broker.createTopic({ name, partitions: PARTITIONS, config: { 'max.message.bytes': String(MAX_RECORD_BYTES) } })
  const runtime = { ...systemRuntime(), ...(options.now !== undefined && { now: options.now }) }
  const { maxBytes = 1_000_000, files = diskFiles, retryUnreadableMs } = options
  const spool = await Spool.open({ folder, maxBytes, files, runtime, retryUnreadableMs })
  const background = memoryTransport(broker).publisher()
  const publisher = options.delayMs === undefined ? background : delayed(background, options.delayMs)
  const connection: { serdes: Serdes | undefined } = { serdes: undefined }
  async function connect(): Promise<void> {
    connection.serdes = await openSerdes(registry, topics)
  }
  if (options.isConnected !== false) await connect()
  const facts = new SpoolingPublisher({
    publisher,
    background,
    spool,
    registry,
    runtime,
    codecOf: (topic) => connection.serdes?.codecFor(topic),
    partitionsOf: (topic) => (connection.serdes !== undefined && topics.some(({ name }) => name === topic) ? PARTITIONS : undefined),
    async askPartitions(topic) {
      if (connection.serdes === undefined) throw new Error('no Kafka')
      return broker.partitionCount(topic)
    },
  })
  let isClosed = false
  async function close(): Promise<void> {
    if (isClosed) return
    isClosed = true
    await background.close()
    await spool.close()
  }
  onTestFinished(close)

  /** Returns the values in the topic `plain` by key, in the order of their offsets. */
  function logged(): Record<string, string[]> {
    const records = broker.records(plain.name)
    const byKey = Map.groupBy(records, ({ key }) => `${key}`)
    return Object.fromEntries([...byKey].map(([key, found]) => [key, found.map(({ value }) => `${value}`)]))
  }

  /** Makes Kafka unresponsive until the returned function is called. */
  function stop(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>()
    broker.publishGate = promise
    return () => {
      broker.publishGate = undefined
      resolve()
    }
  }

  return { folder, broker, registry, spool, facts, connect, close, logged, stop, publisher }
}
