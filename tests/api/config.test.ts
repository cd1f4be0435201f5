import { expect, test } from 'vitest'
import { readApiConfig } from '../../api/config.ts'

test('without any variable: the local stack and the development key', () => {
  expect(readApiConfig({})).toMatchObject({
    host: '127.0.0.1',
    port: 8080,
    services: ['trends', 'links', 'snippets', 'limits'],
    publicUrl: 'http://localhost:8080',
    brokers: ['127.0.0.1:9092'],
    schemaRegistryUrl: 'http://127.0.0.1:8081',
    redisUrl: 'redis://127.0.0.1:6379',
    clickhouse: { url: 'http://127.0.0.1:8123', database: 'default' },
    auth: { issuer: 'millrace', audience: 'millrace', keys: { kind: 'development' } },
  })
})

test('lists are split; an empty variable counts as unset', () => {
  const config = readApiConfig({ KAFKA_BROKERS: 'a:1, b:2,', API_SERVICES: 'trends', API_PORT: '', REDIS_CLUSTER: '1' })
  expect([config.brokers, config.services, config.port, config.redisCluster]).toEqual([['a:1', 'b:2'], ['trends'], 8080, true])
})

test('production takes keys of its own', () => {
  const env = {
    NODE_ENV: 'production',
    AUTH_JWKS_URL: 'https://id.example/jwks',
    AUTH_ISSUER: 'https://id.example',
    AUTH_AUDIENCE: 'millrace',
    LINKS_SECRET: 'a secret of some length',
  }
  expect(readApiConfig(env).auth).toEqual({
    issuer: 'https://id.example',
    audience: 'millrace',
    keys: { kind: 'url', url: 'https://id.example/jwks' },
  })
})

test('the header of the country is a name, in any case', () => {
  expect(readApiConfig({ CLICKS_COUNTRY_HEADER: 'CF-IPCountry' }).links.countryHeader).toBe('cf-ipcountry')
  expect(readApiConfig({}).links.countryHeader).toBeUndefined()
  expect(() => readApiConfig({ CLICKS_COUNTRY_HEADER: 'a b' })).toThrow('CLICKS_COUNTRY_HEADER: must be the name of a header')
})

test('short domains are hosts or whole addresses', () => {
  expect(readApiConfig({ SHORT_DOMAINS: 'sho.rt, https://GO.example/,localhost:8090' }).links.domains).toEqual([
    'http://sho.rt',
    'https://go.example',
    'http://localhost:8090',
  ])
})

test.each([
  [{ SHORT_DOMAINS: 'sho.rt/path' }, /SHORT_DOMAINS: sho.rt\/path is no host/],
  [{ SHORT_DOMAINS: ' ' }, /SHORT_DOMAINS/],
  [{ LINKS_SECRET: 'short' }, /LINKS_SECRET: is too short/],
  [{ NODE_ENV: 'production' }, /LINKS_SECRET: is missing/],
  [{ NODE_ENV: 'production' }, /AUTH_JWKS_URL: is missing.*no development key/],
  [{ AUTH_JWKS_FILE: '/keys.json' }, /AUTH_ISSUER: is missing/],
  [{ AUTH_JWKS_FILE: '/keys.json', AUTH_ISSUER: 'x' }, /AUTH_AUDIENCE: is missing/],
  [
    { AUTH_JWKS_FILE: '/keys.json', AUTH_JWKS_URL: 'https://x.example', AUTH_ISSUER: 'x', AUTH_AUDIENCE: 'y' },
    /AUTH_JWKS_FILE: is set beside/,
  ],
  [{ API_PORT: '70000' }, /API_PORT/],
  [{ API_PORT: 'http' }, /API_PORT/],
  [{ API_SERVICES: 'trends,moon' }, /API_SERVICES/],
  [{ API_SERVICES: ',' }, /API_SERVICES/],
  [{ REDIS_URL: 'localhost:6379' }, /REDIS_URL: must start with redis/],
  [{ PUBLIC_URL: 'nowhere' }, /PUBLIC_URL/],
  [{ LOG_LEVEL: 'loud' }, /LOG_LEVEL/],
])('%j stops the start with its reason', (env, reason) => {
  expect(() => readApiConfig(env)).toThrow(reason)
})

test('every wrong setting is named at once', () => {
  expect(() => readApiConfig({ API_PORT: 'x', REDIS_URL: 'y' })).toThrow(/API_PORT[\s\S]*REDIS_URL/)
})

test('contents lie below the home folder, or where a file: or s3: URL says', () => {
  expect(readApiConfig({ MILLRACE_HOME: '/srv/millrace' }).blobs).toEqual({ url: 'file:///srv/millrace/data/blobs', s3Endpoint: undefined })
  const bucket = { BLOBS_URL: 's3://bucket/prefix', BLOBS_ENDPOINT: 'http://minio:9000' }
  expect(readApiConfig(bucket).blobs).toEqual({ url: 's3://bucket/prefix', s3Endpoint: 'http://minio:9000' })
  expect(() => readApiConfig({ BLOBS_URL: 'http://elsewhere/' })).toThrow('BLOBS_URL')
})
