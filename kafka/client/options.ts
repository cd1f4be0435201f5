import { z } from 'zod'
import type { Runtime } from '../../runtime/runtime.ts'
import type { StallGuard } from './kept-session.ts'
import type { Connection, ConnectionOptions } from './protocol.ts'

/** Kafka's default for request.timeout.ms. A broker that has not answered within this time is treated as lost. */
const REQUEST_TIMEOUT_MS = 30_000
/**
 * Time limit for opening a connection. A healthy broker nearby accepts connections at once. The limit is short, so that
 * the client soon tries the next host if one is dead.
 */
const CONNECT_TIMEOUT_MS = 5_000
/** Kafka's default for delivery.timeout.ms. See `deliveryTimeoutMs`. */
const DELIVERY_TIMEOUT_MS = 120_000

/**
 * How long a thread keeps the memberships of a process alive while the event loop is blocked. The limit has the same
 * purpose as Kafka's max.poll.interval.ms (5 minutes), but is shorter, because the partitions are not processed in the
 * meantime.
 */
const STALL_TOLERANCE_MS = 30_000

export const brokerAddress = z.string().regex(/^[^\s:]+:\d{1,5}$|^\[[0-9a-fA-F:]+\]:\d{1,5}$/, 'a broker is host:port, e.g. 127.0.0.1:9092')

const sasl = z
  .object({
    mechanism: z.enum(['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512', 'OAUTHBEARER']),
    username: z.string().optional(),
    password: z.string().optional(),
    token: z.string().optional(),
  })
  .refine(
    (given) =>
      given.mechanism === 'OAUTHBEARER' ? given.token !== undefined : given.username !== undefined && given.password !== undefined,
    {
      message: 'OAUTHBEARER needs token; the other mechanisms need username and password',
    },
  )

const tls = z.object({
  ca: z.string().optional(),
  cert: z.string().optional(),
  key: z.string().optional(),
  passphrase: z.string().optional(),
  rejectUnauthorized: z.boolean().optional(),
})

/** Options of the real transport. Certificates are in PEM format. */
export const kafkaOptions = z
  .object({
    brokers: z.array(brokerAddress).min(1, 'name at least one broker'),
    clientId: z.string().min(1),
    tls: tls.optional(),
    sasl: sasl.optional(),
    connectTimeoutMs: z.number().int().positive().default(CONNECT_TIMEOUT_MS),
    requestTimeoutMs: z.number().int().positive().default(REQUEST_TIMEOUT_MS),
    /**
     * How long requests are retried before they fail. This limit applies to the requests of an at-least-once producer,
     * to the requests of each transaction step before EndTxn, to confirmations of a membership, and to requests about
     * topics and offsets, except reads of committed offsets.
     */
    deliveryTimeoutMs: z.number().int().positive().default(DELIVERY_TIMEOUT_MS),
    /**
     * How long a thread sends the heartbeats of members while the event loop is blocked. 0 means that there is no
     * such thread.
     */
    stallToleranceMs: z.number().int().nonnegative().default(STALL_TOLERANCE_MS),
    /**
     * Verifies the CRC-32C of every fetched batch. With the native implementation, the verification takes 3 to 4 % of
     * the CPU time of consuming.
     */
    verifyChecksums: z.boolean().default(true),
  })
  .refine((given) => given.deliveryTimeoutMs >= given.requestTimeoutMs, {
    message: 'deliveryTimeoutMs must be at least requestTimeoutMs, because a single unanswered request takes that long',
  })

export type KafkaOptions = z.input<typeof kafkaOptions>
export type ResolvedKafkaOptions = z.output<typeof kafkaOptions>

/** Creates a connection that is not open yet. */
export type NewConnection = (clientId: string, options: ConnectionOptions) => Connection

export interface KafkaDeps {
  /**
   * The runtime of the transport. Its `now` provides the timestamps of fetches, so readers of these timestamps must use
   * the same clock.
   */
  readonly runtime: Runtime
  /**
   * Creates the connections to brokers. The simulation sets it to connect to simulated brokers.
   * @default TCP connections
   */
  readonly newConnection?: NewConnection
}

/** The options and dependencies that all modules of the transport share. */
export interface Context {
  readonly options: ResolvedKafkaOptions
  readonly runtime: Runtime
  readonly newConnection?: NewConnection
  /** Keeps memberships alive while the event loop is blocked; undefined when this is switched off. */
  readonly stallGuard?: StallGuard
  /** Fires when the transport is closed. No request is retried afterwards. */
  readonly closing: AbortSignal
}
