import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { kafkaSettings } from '../../kafka/settings.ts'
import { readPipelinesConfig, WORKER_VARIABLES } from '../../pipelines/config.ts'
import { sinkMetrics } from '../../pipelines/engine/sinks/metrics.ts'
import { DEAD_LETTER_HEADERS, REPLAY_HEADER, SENT_AT_HEADER } from '../../pipelines/engine/task/dead-letter.ts'
import { changelogSpec, deadLetterSpec, repartitionSpec } from '../../pipelines/engine/topology/internal-topics.ts'
import { surroundingsSettings } from '../../settings/surroundings.ts'
import { stateSettings } from '../../state/settings.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const source = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const reference = source('docs/engine-reference.md')

/** Returns the rows of the tables below a heading, up to the next heading, as cells without backticks. */
function rows(heading: string): string[][] {
  const lines = reference.split('\n')
  const start = lines.findIndex((line) => /^#+ /.test(line) && line.replaceAll('`', '').replace(/^#+ /, '') === heading)
  expect(start, `heading ${heading}`).toBeGreaterThan(0)
  const length = lines.slice(start + 1).findIndex((line) => /^#+ /.test(line))
  const table = lines.slice(start + 1, length < 0 ? undefined : start + 1 + length).filter((line) => line.startsWith('| '))
  return table.map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.replaceAll('`', '').trim()),
  )
}
const firstCells = (heading: string) => rows(heading).map((row) => row[0])
const cell = (heading: string, first: string, column: number) => rows(heading).find((row) => row[0] === first)?.[column]

/** Returns the members of an interface, in source order. */
function members(path: string, name: string): string[] {
  const body = new RegExp(`export interface ${name}\\b[^{]*\\{\\n([\\s\\S]*?)\\n\\}`).exec(source(path))?.[1] ?? ''
  return [...body.matchAll(/^ {2}(?:readonly )?(\w+)\??[:(]/gm)].map((match) => match[1])
}

test.each([
  ['pipelines/engine/topology/topology-options.ts', 'TopologyOptions'],
  ['pipelines/engine/topology/api.ts', 'SourceOptions'],
  ['pipelines/engine/topology/api.ts', 'OnError'],
  ['pipelines/engine/topology/api.ts', 'ProcessOptions'],
  ['pipelines/engine/topology/api.ts', 'TickOptions'],
  ['pipelines/engine/topology/api.ts', 'EmitOptions'],
  ['state/stores/keyed-store.ts', 'KeyedStoreOptions'],
  ['state/stores/windowed-counter-store.ts', 'WindowedCounterOptions'],
  ['state/stores/timer-store.ts', 'TimerStoreOptions'],
  ['state/stores/top-k-store.ts', 'TopKOptions'],
  ['state/stores/packed-store.ts', 'PackedStoreOptions'],
  ['state/stores/join-buffer-store.ts', 'JoinBufferOptions'],
  ['pipelines/engine/worker/run.ts', 'RunOptions'],
  ['pipelines/engine/worker/worker-config.ts', 'WorkerConfig'],
  ['state/stores/rocksdb-backend.ts', 'RocksdbOptions'],
  ['pipelines/engine/sinks/sink.ts', 'SinkOptions'],
  ['pipelines/engine/sinks/sink-group.ts', 'SinkGroupOptions'],
  ['pipelines/engine/sinks/deliveries/delivery.ts', 'DeliveryTarget'],
])('%s: the reference lists exactly the members of %s', (path, name) => {
  const [, ...listed] = firstCells(name)
  expect(members(path, name)).not.toEqual([])
  expect(listed.sort()).toEqual(members(path, name).sort())
})

test('the reference lists every function, class and constant that the engine exports', () => {
  const lists = [...source('pipelines/engine/index.ts').matchAll(/^export \{([^}]*)\}/gm)].map(([, names]) => names)
  const names = lists.flatMap((list) => list.split(',').map((name) => name.trim()))
  const errors = new Set(firstCells('Errors'))
  const exported = names.filter((name) => name !== '' && !name.startsWith('type ') && !errors.has(name))
  const [, ...listed] = firstCells('Exports').flatMap((cell) => cell.split(', '))
  expect(listed.sort()).toEqual(exported.sort())
})

/** Reads the value of a number, or of a product of numbers, from the source of a file. */
function constant(path: string, name: string): number {
  const expression = new RegExp(`\\b${name}(?:: \\w+)? ?[=:] ([\\d_ *]+)`).exec(source(path))?.[1]
  expect(expression, `${name} in ${path}`).toBeDefined()
  return (expression ?? '').split('*').reduce((product, factor) => product * Number(factor.replaceAll('_', '').trim()), 1)
}
const KIB = 1024
const MIB = KIB * KIB
const comma = (value: number) => value.toLocaleString('en')

test('the defaults and limits in the reference match the code', () => {
  const worker = 'pipelines/engine/worker/worker.ts'
  const assembly = 'pipelines/engine/worker/assembly.ts'
  const table = 'pipelines/engine/sinks/table-target.ts'
  const view = 'pipelines/engine/sinks/view-target.ts'
  const interval = `${constant(assembly, 'DEFAULT_COMMIT_INTERVAL_MS')} ms`
  const batch = (path: string, unit: number, name: string) =>
    `${comma(constant(path, 'maxRecords'))} records or ${constant(path, 'maxBytes') / unit} ${name}`

  expect(cell('TopologyOptions', 'commitIntervalMs', 1)).toBe(`the worker's, ${interval}`)
  expect(cell('WorkerConfig', 'commitIntervalMs', 1)).toBe(interval)
  expect(cell('WorkerConfig', 'cacheBytes', 1)).toBe(
    `an equal share of ${constant(assembly, 'DEFAULT_SHARED_CACHE_BYTES') / MIB} MiB, but at least ${constant(assembly, 'LEAST_DEFAULT_CACHE_BYTES') / MIB} MiB`,
  )
  expect(cell('RocksdbOptions', 'memoryBudgetBytes', 1)).toBe(
    `${constant('state/stores/rocksdb-backend.ts', 'DEFAULT_MEMORY_BUDGET_BYTES') / MIB} MiB`,
  )
  expect(cell('RocksdbOptions', 'backgroundThreads', 1)).toBe(
    String(constant('state/stores/rocksdb-backend.ts', 'DEFAULT_BACKGROUND_THREADS')),
  )
  expect(cell('Targets', 'table (ClickHouse)', 1)).toBe(batch(table, MIB, 'MiB'))
  expect(cell('Targets', 'view (Redis)', 1)).toBe(batch(view, KIB, 'KiB'))
  expect(cell('Targets', 'table (ClickHouse)', 2)).toBe(`${constant(table, 'lingerMs') / 1_000} s`)
  expect(cell('Targets', 'view (Redis)', 3)).toBe(`every ${constant(view, 'PROBE_EVERY_MS') / 1_000} s`)
  const index = 'pipelines/engine/sinks/index-target.ts'
  expect(cell('Targets', 'index (OpenSearch)', 3)).toBe(`every ${constant(index, 'PROBE_EVERY_MS') / 1_000} s`)
  expect(reference).toContain(
    `again after ${constant('pipelines/engine/sinks/retried-job.ts', 'FIRST_RETRY_MS')} ms to ${constant('pipelines/engine/sinks/retried-job.ts', 'LONGEST_RETRY_MS') / 1_000} s`,
  )
  expect(reference).toContain(`than ${constant('pipelines/engine/sinks/lane-buffer.ts', 'MAX_QUEUED_BYTES') / MIB} MiB of waiting records`)
  expect(reference).toContain(`at most ${comma(constant('pipelines/engine/task/dead-letter.ts', 'MAX_MESSAGE_CHARACTERS'))} characters`)
  expect(reference).toContain(`more than ${constant('pipelines/engine/worker/membership.ts', 'MAX_FENCES')} fences in a minute stop it`)
  expect(constant('pipelines/engine/worker/membership.ts', 'FENCE_WINDOW_MS')).toBe(60_000)
  expect(rows('Limits')).toEqual([
    ['what', 'value'],
    [
      'memory for one transaction',
      `above ${constant('pipelines/engine/worker/committer.ts', 'MAX_TRANSACTION_BYTES') / MIB} MiB of unacknowledged output and changed rows, the worker commits early`,
    ],
    [
      'unsent output of one call',
      `above ${constant('pipelines/engine/task/outputs.ts', 'MAX_UNSENT_BYTES') / MIB} MiB the worker stops with a ProcessorError; split the work`,
    ],
    [
      'fetched records that wait in a worker',
      `no poll above ${constant(worker, 'MAX_QUEUED_BYTES') / MIB} MiB; a task is paused above ${constant('pipelines/engine/worker/task-set.ts', 'PAUSE_TASK_BYTES') / MIB} MiB`,
    ],
    [
      'one turn of work',
      `${constant('pipelines/engine/worker/task-set.ts', 'ROUND_MS')} ms, after which sockets are read and heartbeats are sent`,
    ],
    [
      'one call of a processor',
      `${constant('kafka/client/options.ts', 'STALL_TOLERANCE_MS') / 1_000} s (the transport's option stallToleranceMs), during which a thread sends the heartbeats; after that, other workers get the partitions`,
    ],
    [
      'a time handler that runs while partitions move',
      `${constant('pipelines/engine/worker/membership.ts', 'LONGEST_REBALANCE_WAIT_MS') / 1_000} s; after that, the worker drops its work since the last commit and gives up its partitions`,
    ],
    ['transaction timeout', `${constant('kafka/client/producer.ts', 'TRANSACTION_TIMEOUT_MS') / 1_000} s`],
  ])
})

test('the reference documents the environment and its defaults', () => {
  const heading = 'Environment of a worker process'
  const rooms = [kafkaSettings, stateSettings, surroundingsSettings].map(({ variables }) => variables)
  const variables = [...rooms, ...WORKER_VARIABLES].flatMap((fragment) => Object.keys(fragment))
  expect(firstCells(heading).slice(1).sort()).toEqual(variables.sort())

  const config = readPipelinesConfig({})
  const defaults = {
    KAFKA_BROKERS: config.brokers.join(),
    SCHEMA_REGISTRY_URL: config.schemaRegistryUrl,
    REDIS_URL: config.redisUrl,
    REDIS_CLUSTER: config.redisCluster ? '1' : '0',
    CLICKHOUSE_URL: config.clickhouse.url,
    CLICKHOUSE_DATABASE: config.clickhouse.database,
    CLICKHOUSE_USER: config.clickhouse.username,
    CLICKHOUSE_PASSWORD: config.clickhouse.password || 'empty',
    WORKER_SLOT: String(config.slot),
    STATE_MEMORY_MB: `${config.stateMemoryBytes / MIB} MiB`,
    STATE_KEEP_MINUTES: `${config.keepStateMs / 60_000} minutes`,
    WARM_UP_MAX_MINUTES: `${config.warmUpMaxMs / 60_000} minutes`,
    PROCESSING_GUARANTEE: config.guarantee,
    HEALTH_HOST: config.health.healthHost,
    HEALTH_PORT: String(config.health.healthPort),
    LOG_LEVEL: config.logLevel,
  }
  const documented = Object.fromEntries(Object.keys(defaults).map((variable) => [variable, cell(heading, variable, 1)]))
  expect(documented).toEqual(defaults)
})

test('the reference documents outcomes, codes and headers', () => {
  const listed = firstCells('Outcomes and dead letters')
  const code = /export type FaultCode =((?:\s+\| '\w+')+)/.exec(source('pipelines/engine/task/record-failure.ts'))?.[1] ?? ''
  const codes = [...code.matchAll(/'(\w+)'/g)].map((match) => match[1])
  const headers = [...Object.values(DEAD_LETTER_HEADERS), REPLAY_HEADER, SENT_AT_HEADER]
  const outcomes = ['nothing', 'drop(reason)', 'late', 'deadLetter(code, message)', '(it throws)']

  expect(codes).not.toEqual([])
  const [first, second, third] = ['a processor returns', 'code', 'header']
  expect(listed.sort()).toEqual([first, ...outcomes, second, ...codes, third, ...headers].sort())
})

/**
 * Folders with errors that the author of a topology or an operator may see. The test skips the Kafka client, because
 * the transport converts the client's errors to FencedError or TransportError.
 */
const ERROR_FOLDERS = ['pipelines/engine', 'state/stores', 'kafka', 'schemas']

test('the reference documents every error', () => {
  const files = ERROR_FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.startsWith('client'))
      .map((file) => join(folder, file)),
  )
  files.push('state/unavailable.ts')
  const errors = files.flatMap((file) => [...source(file).matchAll(/export class (\w+) extends Error/g)].map((match) => match[1]))
  expect(firstCells('Errors').slice(1).sort()).toEqual(errors.sort())
})

test('the reference documents names and retention of internal topics', () => {
  const DAY_MS = 24 * 3_600_000
  const heading = 'Names in Kafka'
  const days = (spec: { config?: Readonly<Record<string, string>> }) => Number(spec.config?.['retention.ms']) / DAY_MS
  expect(cell(heading, 'repartition topic', 2)).toBe(`${days(repartitionSpec('r', 1))} days`)
  expect(cell(heading, 'dead letters', 2)).toBe(`${days(deadLetterSpec('<topology>'))} days, one partition`)
  expect(cell(heading, 'dead letters', 1)).toContain(deadLetterSpec('<topology>').name)
  expect(cell(heading, 'changelog', 1)).toBe(changelogSpec('<topology>', '<store>', 1).name)
  const tombstones = Number(changelogSpec('t', 's', 1).config?.['delete.retention.ms']) / 3_600_000
  expect(cell(heading, 'changelog', 2)).toBe(`compacted; tombstones ${tombstones} hours`)
})

test('the reference documents the endpoints', () => {
  const paths = [...source('pipelines/engine/worker/introspection.ts').matchAll(/case '(\/\w+)'/g)].map((match) => match[1])
  const state = /PATH = '(\/\w+)'/.exec(source('pipelines/engine/queries/state-endpoint.ts'))?.[1]
  expect(firstCells('HTTP endpoints of a worker process').slice(1)).toEqual([...paths, state])
})

test('the reference documents the metrics', () => {
  const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  const named = ['worker/worker-runner', 'worker/introspection', 'sinks/sink-runner'].flatMap((file) =>
    [...source(`pipelines/engine/${file}.ts`).matchAll(/(?:sample\(|name: )(?:'|`\$\{METRIC_PREFIX\})([a-z]+_[a-z_]+)['`]/g)].map(
      (match) => match[1],
    ),
  )
  const counted = Object.keys(sinkMetrics()).map((name) => `sink_${snake(name)}_total`)
  const listed = firstCells('Metrics').slice(1)
  expect(named.length).toBeGreaterThan(10)
  expect(listed.map((name) => name.replace(/ \[.*/, '')).sort()).toEqual([...named, ...counted].sort())
})
