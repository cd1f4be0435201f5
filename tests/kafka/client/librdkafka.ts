import { fileURLToPath } from 'node:url'
import type { TestContext } from 'vitest'
import { partitionKey, type TopicPartition, type Transport } from '../../../kafka/transport.ts'
import { pythonEnvironment, runPython } from '../../stack/python.ts'
import type { ReadRecord } from './harness.ts'

const SCRIPT = fileURLToPath(new URL('./librdkafka.py', import.meta.url))

export type Step = readonly ['send', string, string, number, string] | readonly ['commit' | 'abort', string]

export interface Librdkafka {
  write(steps: readonly Step[], options?: Record<string, string | number>): Promise<void>
  bulk(partition: TopicPartition, values: readonly string[], options?: Record<string, string | number>): Promise<void>
  /** Returns the records that a read_committed consumer receives up to the current high watermark. */
  read(transport: Transport, partition: TopicPartition): Promise<ReadRecord[]>
}

/**
 * Returns a client that runs librdkafka. If Python or its package is unavailable, skips the test and reports the
 * reason.
 */
export async function librdkafka(context: TestContext, brokers: string): Promise<Librdkafka> {
  try {
    await pythonEnvironment('confluent')
  } catch (error) {
    context.skip((error as Error).message)
  }
  return {
    write: async (steps, options = {}) => {
      await runPython(SCRIPT, { args: ['write', brokers], input: JSON.stringify({ steps, options }) })
    },
    bulk: async ({ topic, partition }, values, options = {}) => {
      await runPython(SCRIPT, { args: ['bulk', brokers], input: JSON.stringify({ topic, partition, values, options }) })
    },
    read: async (transport, target) => {
      const { topic, partition } = target
      const end = (await transport.offsets([target], 'end')).get(partitionKey(topic, partition))
      const seen = JSON.parse(await runPython(SCRIPT, { args: ['read', brokers, topic, String(partition), String(end)] }))
      return (seen as [number, string | null, string | null, Record<string, string | null>][]).map(([offset, key, value, headers]) => ({
        offset,
        key,
        value,
        headers,
      }))
    },
  }
}
