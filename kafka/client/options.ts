import { z } from 'zod'
import type { Runtime } from '../../runtime/runtime.ts'

/** Kafka's own default for request.timeout.ms: a broker that says nothing for longer is taken for gone. */
const REQUEST_TIMEOUT_MS = 30_000
/** A local or rack-near broker accepts at once; a dead host must not hold up the next one on the list. */
const CONNECT_TIMEOUT_MS = 5_000
/** Kafka's delivery.timeout.ms: how long records are sent again before the caller hears of it. */
const DELIVERY_TIMEOUT_MS = 120_000

const broker = z.string().regex(/^[^\s:]+:\d{1,5}$|^\[[0-9a-fA-F:]+\]:\d{1,5}$/, 'a broker is host:port, e.g. 127.0.0.1:9092')

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

/** Options of the real transport. Certificates are PEM texts. */
export const kafkaOptions = z
  .object({
    brokers: z.array(broker).min(1, 'name at least one broker'),
    clientId: z.string().min(1),
    tls: tls.optional(),
    sasl: sasl.optional(),
    connectTimeoutMs: z.number().int().positive().default(CONNECT_TIMEOUT_MS),
    requestTimeoutMs: z.number().int().positive().default(REQUEST_TIMEOUT_MS),
    /** For at-least-once producers, and for the steps of a transaction before its end is asked for. */
    deliveryTimeoutMs: z.number().int().positive().default(DELIVERY_TIMEOUT_MS),
    /** CRC-32C of every fetched batch. Costs 3-4 % of consuming with the native checksum. */
    verifyChecksums: z.boolean().default(true),
  })
  .refine((given) => given.deliveryTimeoutMs >= given.requestTimeoutMs, {
    message: 'deliveryTimeoutMs must not be below requestTimeoutMs: one unanswered request would use it up',
  })

export type KafkaOptions = z.input<typeof kafkaOptions>
export type ResolvedKafkaOptions = z.output<typeof kafkaOptions>

export interface KafkaDeps {
  /** `runtime.now` stamps fetches, so their reader must go by the same clock. */
  readonly runtime: Runtime
}

/** What the parts of the transport share. */
export interface Context {
  readonly options: ResolvedKafkaOptions
  readonly runtime: Runtime
  /** Fires when the transport is closed: nothing is repeated any more. */
  readonly closing: AbortSignal
}
