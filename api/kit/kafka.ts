import { kafkaTransport } from '../../kafka/client/index.ts'
import type { KafkaSecurity } from '../../kafka/settings.ts'
import type { Transport } from '../../kafka/transport.ts'
import { systemRuntime } from '../../runtime/system.ts'
import type { Logger } from './logging.ts'

export interface ApiTransportOptions {
  readonly brokers: readonly string[]
  /** Default: neither TLS nor a sign-in. */
  readonly security?: KafkaSecurity
  readonly log: Logger
}

const CONNECT_TIMEOUT_MS = 2_000
/** Time limit of a request. An idle fetch waits at the broker for up to half of it, which costs little. */
const REQUEST_TIMEOUT_MS = 10_000

/**
 * Creates the Kafka client of an API process, which facts, global tables and limits share. Kafka need not be up at the
 * start, because the client connects at the first call that needs it.
 */
export function apiTransport({ brokers, security, log }: ApiTransportOptions): Transport {
  const transport = kafkaTransport(
    {
      brokers: [...brokers],
      ...security,
      clientId: 'millrace-api',
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      requestTimeoutMs: REQUEST_TIMEOUT_MS,
      deliveryTimeoutMs: REQUEST_TIMEOUT_MS,
    },
    { runtime: systemRuntime(log) },
  )
  let connected: Promise<void> | undefined

  async function connect(): Promise<void> {
    connected ??= transport.connect()
    try {
      await connected
    } catch (error) {
      connected = undefined
      throw error
    }
  }

  async function partitionCounts(topics: readonly string[]): Promise<Map<string, number>> {
    await connect()
    return await transport.partitionCounts(topics)
  }

  return { ...transport, connect, partitionCounts }
}
