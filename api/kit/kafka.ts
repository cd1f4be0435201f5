import { kafkaTransport } from '../../kafka/client/index.ts'
import type { KafkaSecurity } from '../../kafka/settings.ts'
import type { Transport } from '../../kafka/transport.ts'
import { systemRuntime } from '../../runtime/system.ts'
import type { Logger } from './logging.ts'

export interface ApiTransportOptions {
  readonly brokers: readonly string[]
  /** Settings for TLS and authentication. Default: neither. */
  readonly security?: KafkaSecurity
  readonly log: Logger
}

const CONNECT_TIMEOUT_MS = 2_000
/**
 * Time limit of a request. A fetch that finds no records waits at the broker for up to half of this time. The limit is
 * generous, because a waiting fetch costs little.
 */
const REQUEST_TIMEOUT_MS = 10_000

/**
 * Creates the Kafka client that all parts of an API process share. Kafka need not be running at the start, because the
 * client connects at the first call that needs a connection.
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
