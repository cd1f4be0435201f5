import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import type { PartitionPlan } from './provision.ts'

/** The environment that child processes start with. */
export function inheritedEnv(): NodeJS.ProcessEnv {
  return process.env
}

/** A server that is started here, or one that is given. */
export type ServerChoice<Local> = { readonly given: string } | ({ readonly given: undefined } & Local)

/** What `npm start` runs. */
export interface LocalConfig {
  /** Absolute. All local data, logs and downloaded tools. */
  readonly home: string
  readonly kafka: ServerChoice<{ readonly port: number; readonly controllerPort: number; readonly heapMb: number }>
  readonly redis: ServerChoice<{ readonly port: number }>
  readonly clickhouse: ServerChoice<{ readonly port: number }>
  readonly registry: ServerChoice<{ readonly port: number }>
  /** Worker processes, and what they run; undefined: everything. */
  readonly workers: number
  readonly pipelines: string | undefined
  /** The first worker's health port; each further worker has the next one. */
  readonly workerHealthPort: number
  /** Worker processes that decide commands, apart from the others; they run the same pipelines. */
  readonly deciders: number
  readonly deciderHealthPort: number
  readonly apiProcesses: number
  /** The first API process's port; further ones follow in steps of `API_PORT_STEP`. */
  readonly apiPort: number
  /** Of the short domains, in the same steps. */
  readonly shortPort: number
  /** As given by the user; undefined: made from the port. */
  readonly shortDomains: string | undefined
  readonly apiServices: string | undefined
  /** As given by the user; undefined: made from the API's port. */
  readonly publicUrl: string | undefined
  readonly demo: boolean
  /** What new topics are created with. */
  readonly partitions: PartitionPlan
}

/** Between two API processes: wide enough to step over the other default ports (8081, 8090, 8123). */
export const API_PORT_STEP = 100

const DEFAULT_HOME = fileURLToPath(new URL('../../.millrace', import.meta.url))
const MAX_PORT = 65_535
/** More on one machine only wait for each other. */
const MAX_PROCESSES = 64
const SMALLEST_HEAP_MB = 256

const port = (standard: number) =>
  z.coerce.number('is not a port').int('is not a port').min(1, 'is not a port').max(MAX_PORT, 'is not a port').default(standard)
const count = (standard: number, smallest: number) =>
  z.coerce
    .number('is not a number')
    .int('is not a whole number')
    .min(smallest, `is less than ${smallest}`)
    .max(MAX_PROCESSES, `is more than ${MAX_PROCESSES}`)
    .default(standard)
const text = z.string().optional()
const url = (schemes: readonly string[]) =>
  z
    .string()
    .optional()
    .refine(
      (value) => value === undefined || schemes.some((scheme) => value.startsWith(`${scheme}://`)),
      `does not begin with ${schemes.map((scheme) => `${scheme}://`).join(' or ')}`,
    )

const Environment = z
  .object({
    MILLRACE_HOME: z.string().default(DEFAULT_HOME),
    MILLRACE_DEMO: z.enum(['0', '1'], 'is neither 0 nor 1').default('1'),
    KAFKA_BROKERS: z
      .string()
      .regex(/^[^\s:,]+:\d+(,[^\s:,]+:\d+)*$/, 'is not a list of host:port')
      .optional(),
    KAFKA_PORT: port(9092),
    KAFKA_CONTROLLER_PORT: port(9093),
    KAFKA_HEAP_MB: z.coerce
      .number('is not a number')
      .int()
      .min(SMALLEST_HEAP_MB, `is less than ${SMALLEST_HEAP_MB}: the broker needs it to start`)
      .default(384),
    REDIS_URL: url(['redis', 'rediss']),
    REDIS_PORT: port(6379),
    CLICKHOUSE_URL: url(['http', 'https']),
    CLICKHOUSE_PORT: port(8123),
    SCHEMA_REGISTRY_URL: url(['http', 'https']),
    SCHEMA_REGISTRY_PORT: port(8081),
    WORKERS: count(1, 0),
    PIPELINES: text,
    WORKER_HEALTH_PORT: port(9400),
    DECIDERS: count(1, 0),
    DECIDER_HEALTH_PORT: port(9480),
    API_PROCESSES: count(1, 0),
    API_PORT: port(8080),
    SHORT_PORT: port(8090),
    SHORT_DOMAINS: text,
    API_SERVICES: text,
    PUBLIC_URL: text,
    PARTITIONS: z.enum(['local', 'production'], 'is neither local nor production').default('local'),
  })
  .superRefine((env, context) => {
    const users = new Map<number, string>()
    for (const [name, number] of portsOf(env)) {
      const other = users.get(number)
      if (other)
        context.addIssue({
          code: 'custom',
          path: [name],
          message: `is port ${number}, and so is ${other}: choose another one for one of them`,
        })
      users.set(number, name)
      if (number > MAX_PORT && env[name] <= MAX_PORT)
        context.addIssue({ code: 'custom', path: [name], message: `leads to port ${number}: the highest is ${MAX_PORT}` })
    }
  })

type Settings = z.output<typeof Environment>

type PortSetting = Extract<keyof Settings, `${string}_PORT`>

/** Every port that will be listened on, with the setting that it comes from. */
function portsOf(env: Settings): [setting: PortSetting, port: number][] {
  const ports: [PortSetting, number][] = []
  if (!env.KAFKA_BROKERS) ports.push(['KAFKA_PORT', env.KAFKA_PORT], ['KAFKA_CONTROLLER_PORT', env.KAFKA_CONTROLLER_PORT])
  if (!env.REDIS_URL) ports.push(['REDIS_PORT', env.REDIS_PORT])
  if (!env.CLICKHOUSE_URL) ports.push(['CLICKHOUSE_PORT', env.CLICKHOUSE_PORT])
  if (!env.SCHEMA_REGISTRY_URL) ports.push(['SCHEMA_REGISTRY_PORT', env.SCHEMA_REGISTRY_PORT])
  for (let slot = 0; slot < env.WORKERS; slot++) ports.push(['WORKER_HEALTH_PORT', env.WORKER_HEALTH_PORT + slot])
  for (let slot = 0; slot < env.DECIDERS; slot++) ports.push(['DECIDER_HEALTH_PORT', env.DECIDER_HEALTH_PORT + slot])
  for (let index = 0; index < env.API_PROCESSES; index++) {
    ports.push(['API_PORT', env.API_PORT + index * API_PORT_STEP], ['SHORT_PORT', env.SHORT_PORT + index * API_PORT_STEP])
  }
  return ports
}

/** Wrong settings; one line for each, with its name. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

/** Reads the settings of the local stack. An empty variable counts as unset. Throws ConfigError. */
export function localConfig(env: NodeJS.ProcessEnv = process.env): LocalConfig {
  const present = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''))
  const parsed = Environment.safeParse(present)
  if (!parsed.success) {
    const lines = parsed.error.issues.map(({ path, message }) => `${String(path[0])}=${present[String(path[0])] ?? ''}: ${message}`)
    throw new ConfigError([...new Set(lines)].join('\n'))
  }
  const settings = parsed.data
  return {
    home: resolve(settings.MILLRACE_HOME),
    kafka: choice(settings.KAFKA_BROKERS, {
      port: settings.KAFKA_PORT,
      controllerPort: settings.KAFKA_CONTROLLER_PORT,
      heapMb: settings.KAFKA_HEAP_MB,
    }),
    redis: choice(settings.REDIS_URL, { port: settings.REDIS_PORT }),
    clickhouse: choice(settings.CLICKHOUSE_URL, { port: settings.CLICKHOUSE_PORT }),
    registry: choice(settings.SCHEMA_REGISTRY_URL, { port: settings.SCHEMA_REGISTRY_PORT }),
    workers: settings.WORKERS,
    pipelines: settings.PIPELINES,
    workerHealthPort: settings.WORKER_HEALTH_PORT,
    deciders: settings.DECIDERS,
    deciderHealthPort: settings.DECIDER_HEALTH_PORT,
    apiProcesses: settings.API_PROCESSES,
    apiPort: settings.API_PORT,
    shortPort: settings.SHORT_PORT,
    shortDomains: settings.SHORT_DOMAINS,
    apiServices: settings.API_SERVICES,
    publicUrl: settings.PUBLIC_URL,
    demo: settings.MILLRACE_DEMO === '1',
    partitions: settings.PARTITIONS,
  }
}

function choice<Local>(given: string | undefined, local: Local): ServerChoice<Local> {
  return given === undefined ? { given: undefined, ...local } : { given }
}
