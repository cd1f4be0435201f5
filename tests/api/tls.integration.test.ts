import { writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestCertificate, testAuthority } from '../stack/certificates.ts'
import { guardedFolder } from '../stack/folder.ts'
import { type ApiProcess, startApiProcess } from './api-process.ts'

/** How long to wait until the process has noticed changed files. It reads them every 5 s. */
const SOON = { timeout: 30_000, interval: 100 }

const folder = guardedFolder()
const serverAuthority = testAuthority('server authority')
const clientAuthority = testAuthority('client authority')
const file = (name: string) => join(folder.path, name)
const settings = { API_TLS_PORT: '0', API_TLS_CERT: file('cert.pem'), API_TLS_KEY: file('key.pem'), API_TLS_CLIENT_CA: file('ca.pem') }
let api: ApiProcess

async function issue(): Promise<TestCertificate> {
  const issued = serverAuthority.issue({ dns: ['localhost'], usage: 'server' })
  await writeFile(file('key.pem'), issued.key)
  await writeFile(file('cert.pem'), issued.cert)
  return issued
}

beforeAll(async () => {
  await issue()
  await writeFile(file('ca.pem'), clientAuthority.cert)
  api = await startApiProcess(folder.path, { ...settings, API_SERVICES: 'trends' })
})

afterAll(() => folder.finish())

function get(path: string, client?: TestCertificate) {
  const url = api.lines.find(({ event }) => event === 'api_started')!.tls_url as string
  const options = { servername: 'localhost', ca: serverAuthority.cert, cert: client?.cert, key: client?.key, agent: false }
  return new Promise<{ status: number; serial: string }>((resolve, reject) => {
    const sent = request(`${url}${path}`, options, (response) => {
      const socket = response.socket as unknown as import('node:tls').TLSSocket
      const { serialNumber } = socket.getPeerX509Certificate()!
      response.resume().on('end', () => resolve({ status: response.statusCode!, serial: serialNumber }))
    })
    sent.on('error', reject)
    sent.end()
  })
}

test('the process serves TLS to clients with and without a certificate, and plain HTTP', async () => {
  const client = clientAuthority.issue({ commonName: 'payments', usage: 'client' })
  expect((await get('/livez', client)).status).toBe(200)
  expect((await get('/livez')).status).toBe(200)
  // A certificate is sufficient only for routes that accept certificates.
  expect((await get('/v1/me/interests', client)).status).toBe(401)
  expect((await fetch(`${api.url}/livez`)).status).toBe(200)
})

test('the process reloads a changed certificate and its key', async () => {
  const before = await get('/livez')
  await issue()
  await expect.poll(async () => (await get('/livez')).serial, SOON).not.toBe(before.serial)
  const metrics = await (await fetch(`${api.operationsUrl}/metrics`)).text()
  expect(metrics).toMatch(/tls_certificate_expires_timestamp_seconds \d+/)
})

test('a process whose TLS files are not usable does not start', async () => {
  const wrong = { ...settings, API_TLS_CLIENT_CA: file('key.pem'), API_SERVICES: 'trends' }
  await expect(startApiProcess(folder.path, wrong)).rejects.toThrow(/API_TLS_CLIENT_CA: the file contains no certificate/)
})

test('the process stops with the exit code 0', async () => {
  expect(await api.stop()).toBe(0)
})
