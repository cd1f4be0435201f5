import { expect, test } from 'vitest'
import { localConfig } from '../../../deploy/local/config.ts'
import { SettingsError } from '../../../settings/read.ts'

function refusal(env: Record<string, string>): string {
  try {
    localConfig(env)
  } catch (error) {
    expect(error).toBeInstanceOf(SettingsError)
    return (error as Error).message
  }
  throw new Error('the configuration was accepted')
}

test('by default, all servers are local and use their usual ports', () => {
  expect(localConfig({})).toMatchObject({
    home: expect.stringMatching(/\.millrace$/),
    kafka: { given: undefined, port: 9092, controllerPort: 9093 },
    redis: { given: undefined, port: 6379 },
    clickhouse: { given: undefined, port: 8123 },
    registry: { given: undefined, port: 8081 },
    workers: 1,
    apiProcesses: 1,
    apiPort: 8080,
    demo: true,
    partitions: 'local',
  })
})

test('configured servers replace the local ones', () => {
  const config = localConfig({
    KAFKA_BROKERS: 'a:9092,b:9092',
    REDIS_URL: 'rediss://user:secret@cache:6380',
    CLICKHOUSE_URL: 'https://tables:8443',
    SCHEMA_REGISTRY_URL: 'http://registry',
  })
  expect(config.kafka).toEqual({ given: 'a:9092,b:9092' })
  expect(config.redis).toEqual({ given: 'rediss://user:secret@cache:6380' })
  expect(config.clickhouse).toEqual({ given: 'https://tables:8443' })
  expect(config.registry).toEqual({ given: 'http://registry' })
})

test('security settings for Kafka require external brokers, because the local broker has no security', () => {
  expect(refusal({ KAFKA_TLS: '1', KAFKA_SASL_MECHANISM: 'PLAIN' })).toMatch(
    /KAFKA_TLS: needs KAFKA_BROKERS[\s\S]*KAFKA_SASL_MECHANISM: needs/,
  )
  expect(refusal({ KAFKA_BROKERS: 'a:9093', KAFKA_TLS: '1', KAFKA_TLS_CA: '/nowhere' })).toMatch(/KAFKA_TLS_CA: is not a readable file$/)
  expect(localConfig({ KAFKA_BROKERS: 'a:9093', KAFKA_TLS: '1' }).kafka).toEqual({ given: 'a:9093' })
})

test('an empty variable counts as unset, and a relative folder is resolved against the working folder', () => {
  expect(localConfig({ KAFKA_BROKERS: '', MILLRACE_DEMO: '0' })).toMatchObject({ kafka: { given: undefined }, demo: false })
  expect(localConfig({ MILLRACE_HOME: 'some/where' }).home).toBe(`${process.cwd()}/some/where`)
})

test.each([
  [{ API_PORT: 'eighty' }, 'API_PORT: is not a port'],
  [{ API_PORT: '70000' }, 'API_PORT: is not a port'],
  [{ WORKERS: '1.5' }, 'WORKERS: is not a whole number'],
  [{ WORKERS: '-1' }, 'WORKERS: is less than 0'],
  [{ KAFKA_BROKERS: 'localhost' }, 'KAFKA_BROKERS: is not a list of host:port'],
  [{ REDIS_URL: 'localhost:6379' }, 'REDIS_URL: does not begin with redis:// or rediss://'],
  [{ CLICKHOUSE_URL: 'tcp://x' }, 'CLICKHOUSE_URL: does not begin with http:// or https://'],
  [{ MILLRACE_DEMO: 'yes' }, 'MILLRACE_DEMO: is neither 0 nor 1'],
  [{ PIPELINES: 'link' }, expect.stringMatching(/PIPELINES: names link, but the known names are: trends, links, .*, all$/)],
  [{ API_SERVICES: 'links,moon' }, expect.stringMatching(/API_SERVICES: names moon, but the known names are: trends, links/)],
  [{ KAFKA_HEAP_MB: '64' }, 'KAFKA_HEAP_MB: is less than 256: the broker does not start with a smaller heap'],
  [{ API_PORT: '8123' }, 'API_PORT: is port 8123, and so is CLICKHOUSE_PORT: change one of them'],
  [{ WORKERS: '2', WORKER_HEALTH_PORT: '8122' }, 'WORKER_HEALTH_PORT: is port 8123, and so is CLICKHOUSE_PORT: change one of them'],
  [{ API_PROCESSES: '2', API_PORT: '65500' }, 'API_PORT: results in port 65600, but the highest port is 65535'],
])('%j is refused: %s', (env, message) => {
  expect(refusal(env)).toEqual(typeof message === 'string' ? `invalid settings:\n  ${message}` : message)
})

test('the local stack passes on the chosen services, and a list that contains `all` means all services', () => {
  const { pipelines, apiServices } = localConfig({ PIPELINES: 'links, clicks', API_SERVICES: 'links' })
  expect([pipelines, apiServices]).toEqual(['links,clicks', 'links'])
  expect(localConfig({ PIPELINES: 'links,all' }).pipelines).toBe('all')
  expect(localConfig({})).toMatchObject({ pipelines: undefined, apiServices: undefined })
})

test('SHORT_PORT is checked like all other ports, and determines the default of SHORT_DOMAINS', () => {
  const defaults = localConfig({})
  expect([defaults.servicePorts, defaults.serviceEnv]).toEqual([{ SHORT_PORT: 8090 }, { SHORT_DOMAINS: 'localhost:8090' }])
  expect(localConfig({ SHORT_PORT: '9000' }).serviceEnv).toEqual({ SHORT_DOMAINS: 'localhost:9000' })
  expect(localConfig({ SHORT_DOMAINS: 'sho.rt' }).serviceEnv).toEqual({})
  expect(refusal({ SHORT_PORT: '8123' })).toMatch(/SHORT_PORT: is port 8123, and so is CLICKHOUSE_PORT/)
  expect(refusal({ SHORT_PORT: '0' })).toMatch(/SHORT_PORT: is not a port/)
})

test('if API_TLS_PORT is set, each API process has its own TLS port', () => {
  expect([localConfig({}).apiTlsPort, localConfig({ API_TLS_PORT: '8443' }).apiTlsPort]).toEqual([undefined, 8443])
  expect(refusal({ API_TLS_PORT: '8080' })).toMatch(/API_TLS_PORT: is port 8080, and so is API_PORT/)
  expect(refusal({ API_PROCESSES: '2', API_TLS_PORT: '8080', API_PORT: '9000', SHORT_PORT: '8180' })).toMatch(
    /API_TLS_PORT: is port 8180, and so is SHORT_PORT/,
  )
})

test('a local server may use the same port number as an external server', () => {
  expect(localConfig({ API_PORT: '6379', REDIS_URL: 'redis://elsewhere' }).apiPort).toBe(6379)
})

test('one message reports all errors', () => {
  expect(refusal({ API_PORT: 'x', WORKERS: 'y' })).toBe('invalid settings:\n  WORKERS: is not a number\n  API_PORT: is not a port')
})
