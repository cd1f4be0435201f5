import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { z } from 'zod'
import { COMPRESSIONS, type Compression } from '../kafka/transport.ts'
import type { BlobSettings } from '../state/blobs/connect.ts'
import type { HostOptions } from './engine/index.ts'

/** What a worker process needs to know. */
export interface PipelinesConfig {
  readonly brokers: readonly string[]
  readonly schemaRegistryUrl: string
  readonly redisUrl: string
  readonly redisCluster: boolean
  readonly clickhouse: {
    readonly url: string
    readonly database: string
    readonly username: string
    readonly password: string
    readonly cluster: string | undefined
  }
  /** Where the contents of snippets lie. */
  readonly blobs: BlobSettings
  /** Names of services; empty: all. */
  readonly pipelines: readonly string[]
  readonly clicks: {
    /** Key of the hashes that stand for visitors; undefined: one is made in the state folder on first start. */
    readonly visitorSecret: string | undefined
    /** A MaxMind DB file with countries; undefined: the bundled one. */
    readonly countryDatabase: string | undefined
    /** True: visitors' addresses go to ClickHouse; false: only their hashes. */
    readonly keepAddresses: boolean
  }
  /** What it runs of them: what decides commands, the rest, or both. */
  readonly role: 'all' | 'bulk' | 'deciding'
  /** Number of this worker process on its machine: each has a state folder of its own. */
  readonly slot: number
  /** The folder of all slots of this machine. */
  readonly stateDir: string
  /** This slot's folder. */
  readonly stateFolder: string
  readonly stateMemoryBytes: number
  readonly keepStateMs: number
  readonly keepPlaceOnStop: boolean
  readonly commitIntervalMs: number
  readonly guarantee: 'exactly-once' | 'at-least-once'
  readonly compression: Compression
  readonly health: HostOptions
  readonly logLevel: LogLevel
}

const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

const MAX_PORT = 65_535
/** Shorter ones can be guessed. */
const MIN_TOKEN_LENGTH = 16
const MIB = 1_048_576
/** Below this RocksDB's own tables leave nothing for the cache. */
const MIN_STATE_MEMORY_MB = 16
const MS_PER_MINUTE = 60_000
/** Older state has missed tombstones of its changelog and is loaded anew. */
const MAX_STATE_KEEP_MINUTES = 24 * 60
/** Longer than the transaction time-out would mean that the broker aborts what is waiting for its commit. */
const MAX_COMMIT_INTERVAL_MS = 5_000

const list = (text: string) =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')

const Environment = z.object({
  KAFKA_BROKERS: z.string().default('127.0.0.1:9092').transform(list).pipe(z.array(z.string()).min(1)),
  SCHEMA_REGISTRY_URL: z.string().default('http://127.0.0.1:8081'),
  REDIS_URL: z
    .string()
    .regex(/^rediss?:\/\//, 'must start with redis:// or rediss://')
    .default('redis://127.0.0.1:6379'),
  REDIS_CLUSTER: z
    .enum(['0', '1'])
    .default('0')
    .transform((text) => text === '1'),
  CLICKHOUSE_URL: z.url().default('http://127.0.0.1:8123'),
  CLICKHOUSE_DATABASE: z.string().default('default'),
  CLICKHOUSE_USER: z.string().default('default'),
  CLICKHOUSE_PASSWORD: z.string().default(''),
  CLICKHOUSE_CLUSTER: z.string().optional(),
  BLOBS_URL: z.url({ protocol: /^(file|s3)$/ }).optional(),
  BLOBS_ENDPOINT: z.url().optional(),
  PIPELINES: z.string().default('all').transform(list),
  VISITOR_SECRET: z.string().min(MIN_TOKEN_LENGTH).optional(),
  GEOIP_DATABASE: z.string().optional(),
  CLICKS_KEEP_ADDRESSES: z
    .enum(['0', '1'])
    .default('0')
    .transform((text) => text === '1'),
  WORKER_ROLE: z.enum(['all', 'bulk', 'deciding']).default('all'),
  WORKER_SLOT: z.coerce.number().int().min(0).default(0),
  STATE_DIR: z.string().min(1).optional(),
  STATE_MEMORY_MB: z.coerce.number().int().min(MIN_STATE_MEMORY_MB).default(256),
  STATE_KEEP_MINUTES: z.coerce.number().min(0).max(MAX_STATE_KEEP_MINUTES).default(60),
  KEEP_PLACE_ON_STOP: z
    .enum(['0', '1'])
    .default('0')
    .transform((text) => text === '1'),
  COMMIT_INTERVAL_MS: z.coerce.number().int().min(0).max(MAX_COMMIT_INTERVAL_MS).default(100),
  PROCESSING_GUARANTEE: z.enum(['exactly-once', 'at-least-once']).default('exactly-once'),
  COMPRESSION: z.enum(COMPRESSIONS).default('none'),
  HEALTH_HOST: z.string().default('127.0.0.1'),
  HEALTH_ADDRESS: z
    .url({ protocol: /^https?$/ })
    .transform((url) => url.replace(/\/$/, ''))
    .optional(),
  QUERY_TOKEN: z.string().min(MIN_TOKEN_LENGTH).optional(),
  HEALTH_PORT: z.coerce.number().int().min(0).max(MAX_PORT).default(0),
  LOG_LEVEL: z.enum(LOG_LEVELS).default('info'),
  MILLRACE_HOME: z.string().default(join(import.meta.dirname, '..', '.millrace')),
})

/** What NODE_ENV=production asks for beyond. */
const CheckedEnvironment = Environment.extend({ NODE_ENV: z.string().default('development') }).superRefine((env, context) => {
  const countsClicks = env.PIPELINES.includes('all') || env.PIPELINES.includes('clicks')
  if (env.NODE_ENV !== 'production' || !countsClicks || env.VISITOR_SECRET !== undefined) return
  const message = 'is missing: with NODE_ENV=production every worker needs the same; set any random text of 16 characters or more'
  context.addIssue({ code: 'custom', path: ['VISITOR_SECRET'], message })
})

type Env = Readonly<Record<string, string | undefined>>

/** @throws Error that names every wrong setting with its cure. An empty variable counts as unset. */
export function readPipelinesConfig(env: Env = process.env): PipelinesConfig {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''))
  const result = CheckedEnvironment.safeParse(given)
  if (!result.success)
    throw new Error(`wrong settings:\n${result.error.issues.map((issue) => `  ${String(issue.path[0])}: ${issue.message}`).join('\n')}`)
  const settings = result.data
  const stateDir = settings.STATE_DIR ?? join(settings.MILLRACE_HOME, 'state')
  return {
    brokers: settings.KAFKA_BROKERS,
    schemaRegistryUrl: settings.SCHEMA_REGISTRY_URL,
    redisUrl: settings.REDIS_URL,
    redisCluster: settings.REDIS_CLUSTER,
    clickhouse: {
      url: settings.CLICKHOUSE_URL,
      database: settings.CLICKHOUSE_DATABASE,
      username: settings.CLICKHOUSE_USER,
      password: settings.CLICKHOUSE_PASSWORD,
      cluster: settings.CLICKHOUSE_CLUSTER,
    },
    blobs: {
      url: settings.BLOBS_URL ?? pathToFileURL(join(settings.MILLRACE_HOME, 'data', 'blobs')).href,
      s3Endpoint: settings.BLOBS_ENDPOINT,
    },
    pipelines: settings.PIPELINES.includes('all') ? [] : settings.PIPELINES,
    clicks: {
      visitorSecret: settings.VISITOR_SECRET,
      countryDatabase: settings.GEOIP_DATABASE,
      keepAddresses: settings.CLICKS_KEEP_ADDRESSES,
    },
    role: settings.WORKER_ROLE,
    slot: settings.WORKER_SLOT,
    stateDir,
    stateFolder: join(stateDir, `worker-${settings.WORKER_SLOT}`),
    stateMemoryBytes: settings.STATE_MEMORY_MB * MIB,
    keepStateMs: settings.STATE_KEEP_MINUTES * MS_PER_MINUTE,
    keepPlaceOnStop: settings.KEEP_PLACE_ON_STOP,
    commitIntervalMs: settings.COMMIT_INTERVAL_MS,
    guarantee: settings.PROCESSING_GUARANTEE,
    compression: settings.COMPRESSION,
    health: {
      healthHost: settings.HEALTH_HOST,
      healthPort: settings.HEALTH_PORT,
      address: settings.HEALTH_ADDRESS,
      queryToken: settings.QUERY_TOKEN,
    },
    logLevel: settings.LOG_LEVEL,
  }
}
