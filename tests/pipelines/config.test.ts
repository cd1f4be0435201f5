import { expect, test } from 'vitest'
import { readPipelinesConfig } from '../../pipelines/config.ts'
import { pipelineServices } from '../../pipelines/services.ts'

const ALL = pipelineServices.map(({ name }) => name)

function namesOf(env: Readonly<Record<string, string>>): string[] {
  return readPipelinesConfig(env).services.map(({ service }) => service.name)
}

test('by default, the settings match the local stack', () => {
  const config = readPipelinesConfig({ MILLRACE_HOME: '/home/of/millrace' })
  expect(config).toMatchObject({
    brokers: ['127.0.0.1:9092'],
    schemaRegistryUrl: 'http://127.0.0.1:8081',
    slot: 0,
    nice: 0,
    stateFolder: '/home/of/millrace/state/worker-0',
    stateMemoryBytes: 256 * 1_048_576,
    guarantee: 'exactly-once',
    compression: 'none',
    health: { healthPort: 0, address: undefined, queryToken: undefined },
  })
})

test('the state folder is named after the slot', () => {
  expect(readPipelinesConfig({ STATE_DIR: '/state', WORKER_SLOT: '3' }).stateFolder).toBe('/state/worker-3')
})

test('lists are split, empty variables count as unset, and "all" means all services', () => {
  const config = readPipelinesConfig({ KAFKA_BROKERS: 'a:1, b:2', PIPELINES: 'trends', LOG_LEVEL: '' })
  expect([config.brokers, config.logLevel]).toEqual([['a:1', 'b:2'], 'info'])
  expect(namesOf({ PIPELINES: 'trends, clicks' })).toEqual(['trends', 'clicks'])
  expect([namesOf({ PIPELINES: 'all' }), namesOf({})]).toEqual([ALL, ALL])
})

test('one error reports all invalid settings by name', () => {
  const wrong = {
    STATE_MEMORY_MB: '1',
    REDIS_URL: 'http://x',
    LOG_LEVEL: 'loud',
    PROCESSING_GUARANTEE: 'maybe',
    COMPRESSION: 'rar',
    HEALTH_ADDRESS: '10.0.0.7:9400',
    QUERY_TOKEN: 'short',
  }
  for (const name of Object.keys(wrong)) expect(() => readPipelinesConfig(wrong)).toThrow(`  ${name}: `)
})

test("unknown service names are refused, and at least one of the services must have work for the worker's role", () => {
  expect(namesOf({ PIPELINES: 'links,clicks', WORKER_ROLE: 'deciding' })).toEqual(['links'])
  expect(() => readPipelinesConfig({ PIPELINES: 'links,moon' })).toThrow('PIPELINES: names moon, but the known names are: trends, links')
  expect(() => readPipelinesConfig({ PIPELINES: 'trends', WORKER_ROLE: 'deciding' })).toThrow('PIPELINES: leaves nothing to run')
})
