import { expect, test } from 'vitest'
import { readApiConfig } from '../../api/config.ts'
import type { LinksSettings } from '../../api/links/settings.ts'

type Env = Parameters<typeof readApiConfig>[0]

const namesOf = (env: Env) => readApiConfig(env).services.map(({ service }) => service.name)
const linksSettings = (env: Env) => readApiConfig(env).services.find(({ service }) => service.name === 'links')?.settings as LinksSettings

test('the default configuration is for the local stack, with the development key', () => {
  expect(readApiConfig({})).toMatchObject({
    host: '127.0.0.1',
    port: 8080,
    publicUrl: 'http://localhost:8080',
    kafka: { brokers: ['127.0.0.1:9092'], schemaRegistryUrl: 'http://127.0.0.1:8081' },
    state: { redisUrl: 'redis://127.0.0.1:6379', clickhouse: { url: 'http://127.0.0.1:8123', database: 'default' } },
    auth: { issuer: 'millrace', audience: 'millrace', keys: { kind: 'development' } },
  })
  expect(namesOf({})).toEqual(['trends', 'links', 'snippets', 'matches', 'fraud', 'catalog', 'recommendations', 'limits'])
})

test('lists are split at their commas, and an empty variable counts as unset', () => {
  const config = readApiConfig({ KAFKA_BROKERS: 'a:1, b:2,', API_SERVICES: 'trends', API_PORT: '', REDIS_CLUSTER: '1' })
  expect([config.kafka.brokers, config.port, config.state.redisCluster]).toEqual([['a:1', 'b:2'], 8080, true])
  expect(namesOf({ API_SERVICES: 'trends' })).toEqual(['trends'])
})

test('the public URL has no slash at its end, because paths are appended to it', () => {
  expect(readApiConfig({ PUBLIC_URL: 'https://api.example.com/' }).publicUrl).toBe('https://api.example.com')
  expect(readApiConfig({ PUBLIC_URL: 'https://example.com/api/' }).publicUrl).toBe('https://example.com/api')
})

test.each(['file:/data', 'file:///data', 'file://localhost/my data', 'file:///my data', 's3://bucket/prefix'])(
  'blobs may be stored at %s, and spaces around the location do not matter',
  (location) => {
    expect(readApiConfig({ BLOBS_URL: ` ${location} ` }).state.blobs.url).toBe(location)
  },
)

test('the keys of the configured URL are used in production', () => {
  const env = {
    NODE_ENV: 'production',
    AUTH_JWKS_URL: 'https://id.example/jwks',
    AUTH_ISSUER: 'https://id.example',
    AUTH_AUDIENCE: 'millrace',
    LINKS_SECRET: 'a secret of some length',
    FRAUD_HASH_KEY: 'another secret of some length',
    RECOMMENDATIONS_SECRET: 'a third secret of some length',
  }
  expect(readApiConfig(env).auth).toEqual({
    issuer: 'https://id.example',
    audience: 'millrace',
    keys: { kind: 'url', url: 'https://id.example/jwks' },
  })
})

test('the TLS port is read together with its files and the accepted names', () => {
  const env = { API_TLS_PORT: '8443', API_TLS_CERT: 'cert.pem', API_TLS_KEY: 'key.pem', API_TLS_CLIENT_CA: 'ca.pem' }
  const files = { certificate: 'cert.pem', key: 'key.pem', clientAuthorities: 'ca.pem' }
  expect(readApiConfig({}).tls).toBeUndefined()
  expect(readApiConfig(env).tls).toEqual({ port: 8443, files, clientNames: [] })
  expect(readApiConfig({ ...env, API_TLS_CLIENT_NAMES: 'a, b' }).tls?.clientNames).toEqual(['a', 'b'])
})

test.each(['API_TLS_PORT', 'API_TLS_CERT', 'API_TLS_KEY', 'API_TLS_CLIENT_CA'])('TLS settings without %s are refused', (missing) => {
  const env: Record<string, string> = { API_TLS_PORT: '8443', API_TLS_CERT: 'c', API_TLS_KEY: 'k', API_TLS_CLIENT_CA: 'a' }
  delete env[missing]
  expect(() => readApiConfig(env)).toThrow(`${missing}: is missing: set all of API_TLS_PORT, API_TLS_CERT, API_TLS_KEY`)
  expect(() => readApiConfig({ API_TLS_CLIENT_NAMES: 'payments' })).toThrow(`${missing}: is missing`)
})

test('the name of the country header is case-insensitive', () => {
  expect(linksSettings({ CLICKS_COUNTRY_HEADER: 'CF-IPCountry' }).countryHeader).toBe('cf-ipcountry')
  expect(linksSettings({}).countryHeader).toBeUndefined()
  expect(() => readApiConfig({ CLICKS_COUNTRY_HEADER: 'a b' })).toThrow('CLICKS_COUNTRY_HEADER: must be the name of a header')
})

test('a short domain may be given as a host or as a URL', () => {
  expect(linksSettings({ SHORT_DOMAINS: 'sho.rt, https://GO.example/,localhost:8090' }).domains).toEqual([
    'http://sho.rt',
    'https://go.example',
    'http://localhost:8090',
  ])
})

test.each([
  [{ SHORT_DOMAINS: 'sho.rt/path' }, /SHORT_DOMAINS: sho.rt\/path is neither a host/],
  [{ SHORT_DOMAINS: 'http://:secret@sho.rt' }, /SHORT_DOMAINS: .* is neither a host/],
  [{ SHORT_DOMAINS: `${'a.'.repeat(50)}b` }, /SHORT_DOMAINS: a.*is longer than 100 characters/],
  [{ SHORT_DOMAINS: ' ' }, /SHORT_DOMAINS/],
  [{ LINKS_SECRET: 'short' }, /LINKS_SECRET: is too short/],
  [{ NODE_ENV: 'production' }, /LINKS_SECRET: is missing/],
  [{ FRAUD_HASH_KEY: 'short' }, /FRAUD_HASH_KEY: is too short/],
  [{ NODE_ENV: 'production' }, /FRAUD_HASH_KEY: is missing/],
  [{ RECOMMENDATIONS_SECRET: 'short' }, /RECOMMENDATIONS_SECRET: is too short/],
  [{ NODE_ENV: 'production' }, /RECOMMENDATIONS_SECRET: is missing/],
  [{ NODE_ENV: 'production' }, /AUTH_JWKS_URL: is missing.*no development key/],
  [{ AUTH_JWKS_URL: 'http://id.example/jwks' }, /AUTH_JWKS_URL: must begin with https/],
  [{ AUTH_JWKS_URL: 'nowhere' }, /AUTH_JWKS_URL: is not a URL/],
  [{ AUTH_JWKS_URL: 'ftp://localhost/jwks' }, /AUTH_JWKS_URL: must begin with https/],
  [{ AUTH_JWKS_URL: 'http://localhost.evil.example/jwks' }, /AUTH_JWKS_URL: must begin with https/],
  [{ API_HOST: '0.0.0.0' }, /AUTH_JWKS_URL: is missing.*API_HOST is not loopback/],
  [{ API_HOST: '::' }, /AUTH_JWKS_URL: is missing.*API_HOST is not loopback/],
  [{ AUTH_JWKS_FILE: '/keys.json' }, /AUTH_ISSUER: is missing/],
  [{ AUTH_JWKS_FILE: '/keys.json', AUTH_ISSUER: 'x' }, /AUTH_AUDIENCE: is missing/],
  [
    { AUTH_JWKS_FILE: '/keys.json', AUTH_JWKS_URL: 'https://x.example', AUTH_ISSUER: 'x', AUTH_AUDIENCE: 'y' },
    /AUTH_JWKS_FILE: is set in addition/,
  ],
  [{ API_PORT: '70000' }, /API_PORT/],
  [{ API_PORT: 'http' }, /API_PORT/],
  [{ API_SERVICES: 'trends,moon' }, /API_SERVICES: names moon, but the known names are: trends, links/],
  [{ API_SERVICES: ',' }, /API_SERVICES/],
  [{ REDIS_URL: 'localhost:6379' }, /REDIS_URL: does not begin with redis:/],
  [{ PUBLIC_URL: 'nowhere' }, /PUBLIC_URL/],
  [{ PUBLIC_URL: 'api.example.com:8080' }, /PUBLIC_URL: does not begin with http/],
  [{ BLOBS_ENDPOINT: 'minio:9000' }, /BLOBS_ENDPOINT: does not begin with http/],
  [{ BLOBS_URL: 'file://data' }, /BLOBS_URL: is neither a folder like/],
  [{ BLOBS_URL: 'file://' }, /BLOBS_URL: is neither a folder like/],
  [{ IMAGES_URL: 'file:data' }, /IMAGES_URL: is neither a folder like/],
  [{ MODELS_URL: 's3://' }, /MODELS_URL: is neither a folder like/],
  [{ LOG_LEVEL: 'loud' }, /LOG_LEVEL/],
  [{ API_DRAIN_DELAY_MS: '2147483648' }, /API_DRAIN_DELAY_MS: is more than 2147483647/],
  [{ API_DRAIN_TIMEOUT_MS: '9999999999' }, /API_DRAIN_TIMEOUT_MS: is more than 2147483647/],
  [{ SWIPE_WAIT_MS: '9999999999' }, /SWIPE_WAIT_MS: is more than 2147483647/],
  [{ SWIPE_CHECK_MS: '9999999999' }, /SWIPE_CHECK_MS: is more than 2147483647/],
])('%j prevents the start, and the error gives the reason', (env, reason) => {
  expect(() => readApiConfig(env)).toThrow(reason)
})

test('settings of a service that the process does not run are still validated, but without the rules for production', () => {
  const production = { NODE_ENV: 'production', AUTH_JWKS_FILE: '/keys.json', AUTH_ISSUER: 'x', AUTH_AUDIENCE: 'y' }
  expect(namesOf({ ...production, API_SERVICES: 'trends' })).toEqual(['trends'])
  expect(() => readApiConfig({ ...production, API_SERVICES: 'trends', SHORT_PORT: 'x' })).toThrow('SHORT_PORT: is not a port')
})

test('all invalid settings are reported at once', () => {
  expect(() => readApiConfig({ API_PORT: 'x', REDIS_URL: 'y' })).toThrow(/API_PORT[\s\S]*REDIS_URL/)
})

test('blobs are stored below the home folder by default, or in the configured bucket, and an http: URL is refused', () => {
  expect(readApiConfig({ MILLRACE_HOME: '/srv/millrace' }).state.blobs).toMatchObject({
    url: 'file:///srv/millrace/data/blobs',
    s3Endpoint: undefined,
  })
  const bucket = { BLOBS_URL: 's3://bucket/prefix', BLOBS_ENDPOINT: 'http://minio:9000' }
  expect(readApiConfig(bucket).state.blobs).toMatchObject({ url: 's3://bucket/prefix', s3Endpoint: 'http://minio:9000' })
  expect(() => readApiConfig({ BLOBS_URL: 'http://elsewhere/' })).toThrow('BLOBS_URL')
})

test.each([
  ['file:///data/blobs', 'file:///data/blobs'],
  ['file:///data/blobs', 'file:///data/blobs/'],
  ['file:///data/blobs', 'file:///data/blobs/images'],
  ['file:///data/images/blobs', 'file:///data/images'],
  ['s3://bucket', 's3://bucket/images'],
])(
  'the locations of blobs and images must not contain one another, because unreferenced content is removed from each of them: %s, %s',
  (BLOBS_URL, IMAGES_URL) => {
    expect(() => readApiConfig({ BLOBS_URL, IMAGES_URL })).toThrow('IMAGES_URL')
  },
)

test('images are stored separately from other blobs by default, and may be stored at a location that only has a name prefix in common with the location of the blobs', () => {
  const { blobs, images } = readApiConfig({}).state
  expect(images.url).not.toBe(blobs.url)
  const beside = { BLOBS_URL: 's3://bucket/blobs', IMAGES_URL: 's3://bucket/blobs-of-images' }
  expect(readApiConfig(beside).state.images.url).toBe('s3://bucket/blobs-of-images')
})

test.each(['http://localhost:9000/jwks', 'http://127.0.0.1/jwks', 'http://[::1]:9000/jwks', 'https://id.example/jwks'])(
  'keys may be read from %s',
  (url) => {
    const config = readApiConfig({ AUTH_JWKS_URL: url, AUTH_ISSUER: 'x', AUTH_AUDIENCE: 'y', API_HOST: '0.0.0.0' })
    expect(config.auth.keys).toEqual({ kind: 'url', url })
  },
)

test.each(['localhost', '127.0.0.2', '::1'])('the development key is accepted on %s', (host) => {
  expect(readApiConfig({ API_HOST: host }).auth.keys.kind).toBe('development')
})
