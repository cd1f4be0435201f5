import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { healthFault, isHealthy } from '../../../deploy/local/health.ts'
import type { PartKind } from '../../../deploy/local/run-file.ts'

const AUTHORIZATION = `Basic ${Buffer.from('user:pass/word').toString('base64')}`
const server = createServer((request, response) => {
  response.statusCode = request.headers.authorization === AUTHORIZATION ? 200 : 401
  response.end()
})
let host = ''

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  host = `127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => void server.close())

test.each<PartKind>(['registry', 'clickhouse', 'search'])(
  'an external %s that requires a password counts as healthy only if its address contains the right user and password',
  async (kind) => {
    expect(await isHealthy(kind, `http://user:pass%2Fword@${host}`)).toBe(true)
    expect(await isHealthy(kind, `http://user:wrong@${host}`)).toBe(false)
    expect(await isHealthy(kind, `http://${host}`)).toBe(false)
  },
)

test('the reason why a server is unhealthy names the fault, without the password', async () => {
  expect(await healthFault('redis', 'redis://user:secret@127.0.0.1:1')).toMatch(/^connect ECONNREFUSED/)
  expect(await healthFault('kafka', '127.0.0.1:1')).toMatch(/^connect ECONNREFUSED/)
  expect(await healthFault('clickhouse', 'http://user:secret@127.0.0.1:1')).toBe('bad port')
  expect(await healthFault('registry', `http://user:wrong@${host}`)).toBe('it answers the health check with an error')
})

test('the registry is healthy if one of several addresses gives a usable answer', async () => {
  expect(await isHealthy('registry', `http://127.0.0.1:1, http://user:pass%2Fword@${host}`)).toBe(true)
  expect(await isHealthy('registry', `http://user:wrong@${host}, http://user:pass%2Fword@${host}`)).toBe(true)
  expect(await isHealthy('registry', `http://127.0.0.1:1, http://user:wrong@${host}`)).toBe(false)
  expect(await healthFault('registry', `http://127.0.0.1:1, http://127.0.0.1:2`)).toBe('bad port')
})
