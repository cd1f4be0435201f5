import { pino } from 'pino'
import { onTestFinished } from 'vitest'
import { kafkaTransport } from '../../../../kafka/client/index.ts'
import type { Transport } from '../../../../kafka/transport.ts'
import { systemRuntime } from '../../../../runtime/system.ts'
import { uniqueName } from '../../../stack/index.ts'

export const silent = pino({ level: process.env.KAFKA_TEST_LOG ?? 'silent' })

/** A record to produce. Its value is encoded as JSON. */
export interface ProducedRecord {
  readonly partition: number
  readonly key: string
  /** The value; null for a tombstone. */
  readonly value: unknown
}

export interface RealBroker {
  readonly transport: Transport
  /** Creates a topic with a unique name. */
  newTopic(partitions: number, config?: Record<string, string>): Promise<string>
  produce(topic: string, records: readonly ProducedRecord[]): Promise<void>
  /**
   * Initialises the producer again. This is necessary after a topic was deleted and created again, because a producer
   * treats lower offsets than before as the loss of records.
   */
  startOver(): Promise<void>
}

/** Connects a transport to a real broker. The transport is closed when the test ends. */
export async function realBroker(address: string): Promise<RealBroker> {
  const transport = kafkaTransport({ brokers: [address], clientId: 'sink-test' }, { runtime: systemRuntime(silent) })
  onTestFinished(() => transport.close())
  await transport.connect()
  const producer = transport.producer({})
  await producer.init()

  async function newTopic(partitions: number, config: Record<string, string> = {}): Promise<string> {
    const name = uniqueName('sink')
    await transport.ensureTopics([{ name, partitions, config }])
    return name
  }

  async function produce(topic: string, records: readonly ProducedRecord[]): Promise<void> {
    for (const { partition, key, value } of records) {
      const keyBytes = Buffer.from(key)
      const valueBytes = value === null ? null : Buffer.from(JSON.stringify(value))
      producer.appender(topic, partition).append(Date.now(), keyBytes, 0, keyBytes.length, valueBytes, 0, valueBytes?.length ?? 0)
    }
    await producer.commit(new Map(), undefined)
  }

  return { transport, newTopic, produce, startOver: () => producer.init() }
}
