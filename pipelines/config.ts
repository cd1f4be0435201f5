import { join } from 'node:path'
import { z } from 'zod'
import { type KafkaSettings, kafkaSettings } from '../kafka/settings.ts'
import { COMPRESSIONS } from '../kafka/transport.ts'
import { LOWEST_PRIORITY } from '../runtime/lower-priority.ts'
import { settingsFragment, type ValueOf, type Variables } from '../settings/fragment.ts'
import { type Environment, readSettings } from '../settings/read.ts'
import { addressOf, documented, flag, logLevel, namesOf, port, wholeNumber } from '../settings/variables.ts'
import { type StateSettings, stateSettings } from '../state/settings.ts'
import { servicesFor } from './choice.ts'
import type { PipelineService } from './service.ts'
import { pipelineServices } from './services.ts'

/** A service that this process runs, with its settings. */
export interface ChosenPipeline {
  readonly service: PipelineService
  readonly settings: unknown
}

/** Minimum length of the query token. Shorter tokens can be guessed. */
const MIN_TOKEN_LENGTH = 16
const MIB = 1_048_576
/** Minimum memory for RocksDB. With less memory, the memtables would leave nothing for the cache. */
const MIN_STATE_MEMORY_MB = 16
const MS_PER_MINUTE = 60_000
/**
 * Upper limit of STATE_KEEP_MINUTES. State that was unused for longer may have missed tombstones, so a worker could not
 * use it anyway.
 */
const MAX_STATE_KEEP_MINUTES = 24 * 60
const MAX_WARM_UP_MINUTES = 24 * 60
const ALL = 'all'

const names = pipelineServices.map(({ name }) => name)

const choiceSettings = settingsFragment({
  variables: {
    PIPELINES: documented(namesOf([...names, ALL]).prefault(ALL), `services that workers run: ${names.join(', ')}`),
    WORKER_ROLE: documented(
      z.enum(['all', 'bulk', 'deciding'], 'is not one of all, bulk, deciding').prefault('all'),
      'parts of services that a worker runs: `deciding` for the parts that decide commands, `bulk` for all other parts, or `all`; `npm start` sets it',
    ),
  },
  rules({ PIPELINES, WORKER_ROLE }, report) {
    if (servicesFor(WORKER_ROLE, chosenNames(PIPELINES)).length > 0) return
    report('PIPELINES', `leaves nothing to run: none of these services has anything for workers of role ${WORKER_ROLE}`)
  },
  value: (env) => servicesFor(env.WORKER_ROLE, chosenNames(env.PIPELINES)),
})

function chosenNames(pipelines: readonly string[]): readonly string[] {
  return pipelines.includes(ALL) ? [] : pipelines
}

const workerSettings = settingsFragment({
  variables: {
    WORKER_SLOT: documented(wholeNumber(0).prefault('0'), 'number of a worker on its machine; `npm start` sets it'),
    WORKER_NICE: documented(
      wholeNumber(0, LOWEST_PRIORITY).prefault('0'),
      'nice value: how readily a worker yields the CPU to other processes, from 0 (normal priority) to 19 (lowest priority); unless it is set, `npm start` gives 10 to workers that do not decide commands',
    ),
    STATE_DIR: documented(z.string().optional(), 'folder for the state of all workers on a machine', '`state` in `MILLRACE_HOME`'),
    STATE_MEMORY_MB: documented(wholeNumber(MIN_STATE_MEMORY_MB).prefault('256'), 'memory that RocksDB may use in a worker, in MiB'),
    STATE_KEEP_MINUTES: documented(
      z.coerce.number('is not a number').min(0, 'is less than 0').max(MAX_STATE_KEEP_MINUTES, 'is more than a day').prefault('60'),
      'how long a worker keeps the state of partitions that moved to other workers',
    ),
    KEEP_PLACE_ON_STOP: documented(
      flag.prefault('0'),
      '1 lets a stopping worker stay in its groups until its session times out, so that a restart within this time moves no partitions',
    ),
    WARM_UP_MAX_MINUTES: documented(
      z.coerce.number('is not a number').min(0, 'is less than 0').max(MAX_WARM_UP_MINUTES, 'is more than a day').prefault('30'),
      'how long, at most, a new worker copies state before it takes over partitions; with 0, it takes them over at once',
    ),
    PROCESSING_GUARANTEE: documented(
      z.enum(['exactly-once', 'at-least-once'], 'is neither exactly-once nor at-least-once').prefault('exactly-once'),
      'exactly-once or at-least-once',
    ),
    COMPRESSION: documented(
      z.enum(COMPRESSIONS, `is not one of ${COMPRESSIONS.join(', ')}`).prefault('none'),
      `compression of records that topologies write: ${COMPRESSIONS.join(', ')}`,
    ),
    HEALTH_HOST: documented(z.string().prefault('127.0.0.1'), 'address that a worker listens on'),
    HEALTH_PORT: documented(port().prefault('0'), 'port that a worker listens on, 0 for any free port; `npm start` sets it'),
    HEALTH_ADDRESS: documented(
      addressOf('http', 'https')
        .transform((url) => url.replace(/\/$/, ''))
        .optional(),
      'address at which other workers query this one and check whether its process has ended',
      'from `HEALTH_HOST` and the port',
    ),
    QUERY_TOKEN: documented(
      z.string().min(MIN_TOKEN_LENGTH, `is shorter than ${MIN_TOKEN_LENGTH} characters`).optional(),
      'token that callers of state queries must send',
    ),
    LOG_LEVEL: logLevel,
  },
  value(env, { home }) {
    const stateDir = env.STATE_DIR ?? join(home, 'state')
    return {
      /** Number of this worker process on its machine. Each worker process has a separate state folder. */
      slot: env.WORKER_SLOT,
      nice: env.WORKER_NICE,
      /** Folder for the state of all slots of this machine. */
      stateDir,
      stateFolder: join(stateDir, `worker-${env.WORKER_SLOT}`),
      stateMemoryBytes: env.STATE_MEMORY_MB * MIB,
      keepStateMs: env.STATE_KEEP_MINUTES * MS_PER_MINUTE,
      keepPlaceOnStop: env.KEEP_PLACE_ON_STOP,
      warmUpMaxMs: env.WARM_UP_MAX_MINUTES * MS_PER_MINUTE,
      guarantee: env.PROCESSING_GUARANTEE,
      compression: env.COMPRESSION,
      health: { healthHost: env.HEALTH_HOST, healthPort: env.HEALTH_PORT, address: env.HEALTH_ADDRESS, queryToken: env.QUERY_TOKEN },
      logLevel: env.LOG_LEVEL,
    }
  },
})

/** The configuration of a worker process. */
export interface PipelinesConfig extends KafkaSettings, StateSettings, ValueOf<typeof workerSettings> {
  readonly services: readonly ChosenPipeline[]
}

/** The worker's own variables. Every worker also reads those of Kafka and of the databases. */
export const WORKER_VARIABLES: readonly Variables[] = [choiceSettings.variables, workerSettings.variables]

/**
 * Reads the configuration of a worker.
 * @throws SettingsError that lists every wrong setting and what is wrong with it
 */
export function readPipelinesConfig(env: Environment = process.env): PipelinesConfig {
  return readSettings(env, ({ read }) => {
    const choice = read(choiceSettings)
    const chosen = choice.peek() ?? pipelineServices
    const services = pipelineServices.map((service) => {
      const isChosen = chosen.includes(service)
      return { service, isChosen, settings: read(service.settings, { withRules: isChosen }) }
    })
    const [worker, kafka, state] = [read(workerSettings), read(kafkaSettings), read(stateSettings)]
    return () => ({
      ...kafka.value(),
      ...state.value(),
      ...worker.value(),
      services: services.filter(({ isChosen }) => isChosen).map(({ service, settings }) => ({ service, settings: settings.value() })),
    })
  })
}
