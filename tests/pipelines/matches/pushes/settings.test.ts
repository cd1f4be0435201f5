import { expect, test } from 'vitest'
import { pushSettings } from '../../../../pipelines/matches/pushes/settings.ts'
import { readSettings } from '../../../../settings/read.ts'

const BYTES = Buffer.alloc(32, 7)
const SECRET = `whsec_${BYTES.toString('base64')}`
const URL_OK = 'https://push.example/hooks/matches'

function read(env: Record<string, string>) {
  return readSettings(env, (reader) => {
    const settings = reader.read(pushSettings)
    return () => settings.value()
  })
}

test('without an address, there is no webhook, even if a secret is set', () => {
  expect(read({})).toEqual({ webhook: undefined })
  expect(read({ MATCH_WEBHOOK_SECRET: SECRET })).toEqual({ webhook: undefined })
})

test('a webhook has an address and one or two secrets', () => {
  expect(read({ MATCH_WEBHOOK_URL: URL_OK, MATCH_WEBHOOK_SECRET: SECRET })).toEqual({
    webhook: { url: new URL(URL_OK), secrets: [BYTES] },
  })
  const other = `whsec_${Buffer.alloc(24, 1).toString('base64')}`
  expect(read({ MATCH_WEBHOOK_URL: URL_OK, MATCH_WEBHOOK_SECRET: `${SECRET}, ${other}` }).webhook?.secrets).toEqual([
    BYTES,
    Buffer.alloc(24, 1),
  ])
})

test.each(['http://localhost:9000/hook', 'http://127.0.0.1:9000/hook', 'http://[::1]:9000/hook'])(
  'a local receiver needs no TLS: %s',
  (url) => {
    expect(read({ MATCH_WEBHOOK_URL: url, MATCH_WEBHOOK_SECRET: SECRET }).webhook?.url.href).toBe(url)
  },
)

test('a receiver on another machine needs TLS, unless the operator permits plain HTTP', () => {
  const env = { MATCH_WEBHOOK_URL: 'http://push.example/hook', MATCH_WEBHOOK_SECRET: SECRET }
  expect(() => read(env)).toThrow(/MATCH_WEBHOOK_URL: is not encrypted/)
  expect(() => read({ ...env, MATCH_WEBHOOK_URL: 'http://127.0.0.1.example/hook' })).toThrow(/is not encrypted/)
  expect(read({ ...env, MATCH_WEBHOOK_PLAIN_HTTP: '1' }).webhook?.url.protocol).toBe('http:')
})

test.each([
  [{ MATCH_WEBHOOK_URL: URL_OK }, /MATCH_WEBHOOK_SECRET: is missing/],
  [{ MATCH_WEBHOOK_URL: 'ftp://push.example', MATCH_WEBHOOK_SECRET: SECRET }, /MATCH_WEBHOOK_URL: does not begin with/],
  [{ MATCH_WEBHOOK_URL: 'https://', MATCH_WEBHOOK_SECRET: SECRET }, /MATCH_WEBHOOK_URL: is not a URL/],
  [{ MATCH_WEBHOOK_URL: 'https://me:word@push.example', MATCH_WEBHOOK_SECRET: SECRET }, /user name or password/],
  [{ MATCH_WEBHOOK_URL: URL_OK, MATCH_WEBHOOK_SECRET: 'secret' }, /MATCH_WEBHOOK_SECRET/],
  [{ MATCH_WEBHOOK_URL: URL_OK, MATCH_WEBHOOK_SECRET: `whsec_${Buffer.alloc(23).toString('base64')}` }, /24 to 64 bytes/],
  [{ MATCH_WEBHOOK_URL: URL_OK, MATCH_WEBHOOK_SECRET: `whsec_${Buffer.alloc(65).toString('base64')}` }, /24 to 64 bytes/],
  [{ MATCH_WEBHOOK_URL: URL_OK, MATCH_WEBHOOK_SECRET: [SECRET, SECRET, SECRET].join() }, /more than 2 secrets/],
])('invalid settings prevent the start: %j', (env, message) => {
  expect(() => read(env as Record<string, string>)).toThrow(message)
})
