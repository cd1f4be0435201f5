import { z } from 'zod'
import { apiServices } from '../../api/services.ts'
import { kafkaSettings } from '../../kafka/settings.ts'
import { pipelineServices } from '../../pipelines/services.ts'
import { LOWEST_PRIORITY } from '../../runtime/lower-priority.ts'
import { settingsFragment, type Values, type Variables } from '../../settings/fragment.ts'
import { type Environment, readSettings } from '../../settings/read.ts'
import { documented, flag, namesOf, port, wholeNumber } from '../../settings/variables.ts'
import { stateSettings } from '../../state/settings.ts'

/** Returns the environment that child processes inherit. Only configuration files may read `process.env`. */
export function inheritedEnv(): NodeJS.ProcessEnv {
  return process.env
}

/** A server that is either external, with the address `given`, or started by this stack. */
export type ServerChoice<Local> = { readonly given: string } | ({ readonly given: undefined } & Local)

/** Configuration of `npm start`. `home` is the absolute path of the folder for data, logs and downloaded tools. */
export type LocalConfig = ReturnType<typeof configOf> & { readonly home: string }

/**
 * Distance between the ports of consecutive API processes. It keeps the ports of the second API away from other default
 * ports (8081, 8090, 8123).
 */
export const API_PORT_STEP = 100

const MAX_PORT = 65_535
/** Maximum number of processes of a kind. On one machine, more processes would only compete for the cores. */
const MAX_PROCESSES = 64
const SMALLEST_HEAP_MB = 256
const MAX_HEAP_MB = 65_536

const localPort = (standard: number, what: string) => documented(port(1).prefault(String(standard)), what)
const processes = (standard: number, smallest: number, what: string) =>
  documented(wholeNumber(smallest, MAX_PROCESSES).prefault(String(standard)), what)
const text = z.string().optional()
/** The value of PIPELINES that stands for every service. */
const ALL = 'all'
const { KAFKA_BROKERS, SCHEMA_REGISTRY_URL } = kafkaSettings.variables
const { REDIS_URL, CLICKHOUSE_URL, OPENSEARCH_URL } = stateSettings.variables

const localServices = apiServices.flatMap(({ settings, local }) => (local === undefined ? [] : [{ settings, local }]))
const servicePortNames = localServices.flatMap(({ local }) => local.ports)
/** Settings of services: their ports, and the settings whose defaults are derived from these ports. */
const serviceVariables: Variables = Object.fromEntries(
  localServices.flatMap(({ settings, local }) => [
    ...local.ports.map((name) => [name, settings.variables[name]]),
    ...Object.keys(local.env(noPorts(local.ports))).map((name) => [name, text]),
  ]),
)

function noPorts(names: readonly string[]): Record<string, number> {
  return Object.fromEntries(names.map((name) => [name, 0]))
}

const localSettings = settingsFragment({
  variables: {
    WORKERS: processes(1, 0, 'worker processes'),
    DECIDERS: processes(1, 0, 'separate worker processes that only decide commands'),
    API_PROCESSES: processes(1, 0, 'API processes'),
    MILLRACE_DEMO: documented(flag.prefault('1'), '0 disables the demo stream'),
    PARTITIONS: documented(
      z.enum(['local', 'production'], 'is neither local nor production').prefault('local'),
      'partition counts of new topics: local or production',
    ),
    KAFKA_PORT: localPort(9092, 'port of the local broker'),
    KAFKA_CONTROLLER_PORT: localPort(9093, "port of the local broker's controller"),
    KAFKA_HEAP_MB: documented(
      wholeNumber(SMALLEST_HEAP_MB, MAX_HEAP_MB, ': the broker does not start with a smaller heap').prefault('384'),
      'heap of the local broker',
    ),
    REDIS_PORT: localPort(6379, 'port of the local Redis'),
    CLICKHOUSE_PORT: localPort(8123, 'port of the local ClickHouse'),
    SCHEMA_REGISTRY_PORT: localPort(8081, 'port of the local schema registry'),
    OPENSEARCH_PORT: localPort(9200, 'port of the local search server'),
    OPENSEARCH_HEAP_MB: documented(
      wholeNumber(SMALLEST_HEAP_MB, MAX_HEAP_MB, ': the search server does not start with a smaller heap').prefault('256'),
      'heap of the local search server; 1024 for a million documents',
    ),
    WORKER_HEALTH_PORT: localPort(9400, 'port of the first worker; each further worker uses the next port'),
    DECIDER_HEALTH_PORT: localPort(9480, 'port of the first worker that decides commands; each further worker uses the next port'),
    API_OPERATIONS_PORT: localPort(9500, 'port on which the first API serves metrics; each further API uses the next port'),
    API_PORT: localPort(8080, 'port of the first API; the ports of further APIs follow in steps of 100'),
    API_TLS_PORT: port(1).optional(),
    // Settings without a default in this file. If one of them is missing, a local server is started, or the processes
    // use their own default.
    KAFKA_BROKERS: KAFKA_BROKERS.unwrap().optional(),
    REDIS_URL: REDIS_URL.unwrap().optional(),
    CLICKHOUSE_URL: CLICKHOUSE_URL.unwrap().optional(),
    KAFKA_TLS: text,
    KAFKA_SASL_MECHANISM: text,
    SCHEMA_REGISTRY_URL: SCHEMA_REGISTRY_URL.unwrap().optional(),
    OPENSEARCH_URL: OPENSEARCH_URL.unwrap().optional(),
    PIPELINES: namesOf([...pipelineServices.map(({ name }) => name), ALL]).optional(),
    WORKER_NICE: wholeNumber(0, LOWEST_PRIORITY).optional(),
    API_SERVICES: namesOf(apiServices.map(({ name }) => name)).optional(),
    PUBLIC_URL: text,
    ...serviceVariables,
  },
  rules(env, report) {
    const users = new Map<number, string>()
    for (const [name, number] of portsOf(env)) {
      const other = users.get(number)
      if (other) report(name, `is port ${number}, and so is ${other}: change one of them`)
      users.set(number, name)
      if (number > MAX_PORT && Number((env as Values<Variables>)[name]) <= MAX_PORT) {
        report(name, `results in port ${number}, but the highest port is ${MAX_PORT}`)
      }
    }
    if (env.KAFKA_BROKERS === undefined) {
      if (env.KAFKA_TLS === '1') report('KAFKA_TLS', 'needs KAFKA_BROKERS: the local broker has no TLS')
      if (env.KAFKA_SASL_MECHANISM !== undefined) report('KAFKA_SASL_MECHANISM', 'needs KAFKA_BROKERS: the local broker has no users')
    }
    for (const name of servicePortNames) if (portOf(env, name) === 0) report(name, 'is not a port')
  },
  value: (env) => env,
})

type Settings = Values<typeof localSettings.variables>

/** The settings that only the local stack has, for the table in README.md. */
export const LOCAL_VARIABLES: Variables = Object.fromEntries(
  Object.entries<z.ZodType>(localSettings.variables).filter(
    ([name, schema]) => schema.meta()?.description !== undefined && !(name in serviceVariables),
  ),
)

function portOf(env: Values<Variables>, name: string): number {
  return Number(env[name])
}

/** Returns every port on which the stack may listen, with the name of its setting. */
function portsOf(env: Settings): [setting: string, port: number][] {
  const ports: [string, number][] = []
  if (!env.KAFKA_BROKERS) ports.push(['KAFKA_PORT', env.KAFKA_PORT], ['KAFKA_CONTROLLER_PORT', env.KAFKA_CONTROLLER_PORT])
  if (!env.REDIS_URL) ports.push(['REDIS_PORT', env.REDIS_PORT])
  if (!env.CLICKHOUSE_URL) ports.push(['CLICKHOUSE_PORT', env.CLICKHOUSE_PORT])
  if (!env.SCHEMA_REGISTRY_URL) ports.push(['SCHEMA_REGISTRY_PORT', env.SCHEMA_REGISTRY_PORT])
  if (!env.OPENSEARCH_URL) ports.push(['OPENSEARCH_PORT', env.OPENSEARCH_PORT])
  for (let slot = 0; slot < env.WORKERS; slot++) ports.push(['WORKER_HEALTH_PORT', env.WORKER_HEALTH_PORT + slot])
  for (let slot = 0; slot < env.DECIDERS; slot++) ports.push(['DECIDER_HEALTH_PORT', env.DECIDER_HEALTH_PORT + slot])
  for (let index = 0; index < env.API_PROCESSES; index++) {
    ports.push(['API_OPERATIONS_PORT', env.API_OPERATIONS_PORT + index])
    const names = ['API_PORT', ...(env.API_TLS_PORT === undefined ? [] : ['API_TLS_PORT']), ...servicePortNames]
    for (const name of names) ports.push([name, portOf(env, name) + index * API_PORT_STEP])
  }
  return ports
}

/**
 * Reads the settings of the local stack.
 * @throws SettingsError
 */
export function localConfig(env: Environment = process.env): LocalConfig {
  return readSettings(env, ({ read, surroundings }) => {
    const local = read(localSettings)
    // Without this check, the processes would refuse wrong Kafka settings only after the servers have started.
    read(kafkaSettings)
    return () => ({ home: surroundings.home, ...configOf(local.value()) })
  })
}

function configOf(settings: Settings) {
  const servicePorts = Object.fromEntries(servicePortNames.map((name) => [name, portOf(settings, name)]))
  const derived = localServices.flatMap(({ local }) => Object.entries(local.env(servicePorts)))
  return {
    kafka: choice(settings.KAFKA_BROKERS?.join(','), {
      port: settings.KAFKA_PORT,
      controllerPort: settings.KAFKA_CONTROLLER_PORT,
      heapMb: settings.KAFKA_HEAP_MB,
    }),
    redis: choice(settings.REDIS_URL, { port: settings.REDIS_PORT }),
    clickhouse: choice(settings.CLICKHOUSE_URL, { port: settings.CLICKHOUSE_PORT }),
    registry: choice(settings.SCHEMA_REGISTRY_URL, { port: settings.SCHEMA_REGISTRY_PORT }),
    search: choice(settings.OPENSEARCH_URL, { port: settings.OPENSEARCH_PORT, heapMb: settings.OPENSEARCH_HEAP_MB }),
    /** Number of worker processes, without the deciders. */
    workers: settings.WORKERS,
    pipelines: settings.PIPELINES?.includes(ALL) ? ALL : settings.PIPELINES?.join(','),
    /** The user's nice value for workers that do not decide commands. */
    workerNice: settings.WORKER_NICE,
    /** Health port of the first worker; each further worker uses the next port. */
    workerHealthPort: settings.WORKER_HEALTH_PORT,
    /** Number of worker processes that only decide commands. PIPELINES applies to them, too. */
    deciders: settings.DECIDERS,
    deciderHealthPort: settings.DECIDER_HEALTH_PORT,
    apiProcesses: settings.API_PROCESSES,
    /** Port of the first API process. The ports of further processes follow in steps of `API_PORT_STEP`. */
    apiPort: settings.API_PORT,
    /**
     * TLS port of the first API process; undefined if there is none. The ports of further processes follow in steps of
     * `API_PORT_STEP`.
     */
    apiTlsPort: settings.API_TLS_PORT,
    /** Operations port of the first API process; each further process uses the next port. */
    apiOperationsPort: settings.API_OPERATIONS_PORT,
    /**
     * Additional ports on which each API process listens, keyed by the names of their settings. The values apply to the
     * first process. The ports of further processes follow in steps of `API_PORT_STEP`.
     */
    servicePorts,
    /** Default values for those service settings that the user has not set. */
    serviceEnv: Object.fromEntries(derived.filter(([name]) => (settings as Values<Variables>)[name] === undefined)),
    apiServices: settings.API_SERVICES?.join(','),
    /** The public URL that the user has set; if undefined, it is derived from the API's port. */
    publicUrl: settings.PUBLIC_URL,
    demo: settings.MILLRACE_DEMO,
    /** Partition counts of new topics. */
    partitions: settings.PARTITIONS,
  }
}

function choice<Local>(given: string | undefined, local: Local): ServerChoice<Local> {
  return given === undefined ? { given: undefined, ...local } : { given }
}
