import { pino } from 'pino'
import { kafkaTransport } from '../../kafka/client/index.ts'
import { registryClient } from '../../kafka/registry.ts'
import { openSerdes } from '../../kafka/serdes.ts'
import { systemRuntime } from '../../runtime/system.ts'
import type { Topic } from '../../schemas/topic.ts'
import { type LogReader, logReader } from './log-reader.ts'

/** Opens a reader of topics with registered schemas. */
export async function openLogs(
  env: { readonly KAFKA_BROKERS: string; readonly SCHEMA_REGISTRY_URL: string },
  // biome-ignore lint/suspicious/noExplicitAny: topics with any value type, as in AnyTopic
  topics: readonly Topic<string, any>[],
): Promise<LogReader> {
  const transport = kafkaTransport(
    { brokers: [env.KAFKA_BROKERS], clientId: 'chaos' },
    { runtime: systemRuntime(pino({ level: 'silent' })) },
  )
  await transport.connect()
  const { codecFor } = await openSerdes(registryClient({ url: env.SCHEMA_REGISTRY_URL }), topics)
  const reader = logReader(transport, topics, codecFor)
  return {
    ...reader,
    async close() {
      await reader.close()
      await transport.close()
    },
  }
}
