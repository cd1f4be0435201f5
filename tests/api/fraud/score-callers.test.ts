import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { Agent, request as secureRequest } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { fraudErrors } from '../../../api/fraud/errors.ts'
import { scorePart } from '../../../api/fraud/score/part.ts'
import type { AppOptions } from '../../../api/kit/app.ts'
import { addressRanges } from '../../../api/kit/client-address.ts'
import { directRoutes } from '../../../api/kit/direct-routes.ts'
import { ApiError, errors } from '../../../api/kit/errors.ts'
import type { RequestLimits } from '../../../api/kit/rate-limits.ts'
import { startServer } from '../../../api/kit/server.ts'
import { type ClientCertificates, clientCertificates } from '../../../api/kit/tls/client-certificates.ts'
import { watchMaterial } from '../../../api/kit/tls/watched-material.ts'
import { personalHashes } from '../../../schemas/fraud/personal-hash.ts'
import { type TestCertificate, testAuthority } from '../../stack/certificates.ts'
import { signToken, testApp } from '../kit/harness.ts'
import { scoreWorld } from './score-world.ts'
import { payment } from './system.ts'

const serverAuthority = testAuthority('server authority')
const clientAuthority = testAuthority('client authority')

/** Rate limits that refuse every request. */
const REFUSE_ALL: RequestLimits = {
  covers: () => true,
  admit: async () => ({
    caller: { clientId: 'c', tier: 'free', ip: '' },
    headers: {},
    refusal: new ApiError(errors.rate_limit_exceeded),
  }),
}

/**
 * Serves the scoring route with and without TLS.
 * @param gateways the value of SCORE_GATEWAYS
 * @param started called when the body of a payment has arrived; resolves when scoring may start
 */
async function served(gateways: readonly string[], started = () => Promise.resolve(), limits?: RequestLimits) {
  const { score } = scoreWorld()
  let clients: ClientCertificates | undefined
  const part = scorePart({
    started,
    score: (request) => score(request),
    hashes: personalHashes('0123456789abcdef012345'),
    gateways: gateways.length === 0 ? undefined : addressRanges(gateways),
    observe: () => undefined,
    onAnswer: () => undefined,
    now: Date.now,
    monotonic: () => performance.now(),
  })
  const service = { name: 'fraud', description: '', isUserId: () => true, probes: [], errors: Object.values(fraudErrors), ...part }
  const direct = directRoutes()
  const certificateOf: AppOptions['certificateOf'] = (socket) => clients?.of(socket)
  const api = await testApp({ services: [service], certificateOf, direct, ...(limits && { limits }) })
  const folder = await mkdtemp(join(tmpdir(), 'millrace-score-'))
  const files = { certificate: join(folder, 'cert.pem'), key: join(folder, 'key.pem'), clientAuthorities: join(folder, 'ca.pem') }
  const own = serverAuthority.issue({ dns: ['localhost'], usage: 'server' })
  await Promise.all([
    writeFile(files.certificate, own.cert),
    writeFile(files.key, own.key),
    writeFile(files.clientAuthorities, clientAuthority.cert),
  ])
  const material = await watchMaterial({ files, log: api.log, registry: api.metrics.registry, now: Date.now })
  clients = clientCertificates({ material: () => material.current, names: [], now: Date.now })
  const common = { ...api, direct, host: '127.0.0.1', port: 0, now: Date.now }
  const plain = await startServer(common)
  const secure = await startServer({ ...common, tls: { material, clients } })
  onTestFinished(async () => {
    await Promise.all([plain.close(0), secure.close(0)])
    material.close()
    await rm(folder, { recursive: true })
  })
  return { plain: plain.url, port: Number(new URL(secure.url).port), key: api.key }
}

function body(): string {
  return JSON.stringify(payment('t1'))
}

async function statusOf(url: string, headers: Record<string, string> = {}): Promise<number> {
  const options = { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body: body() }
  return (await fetch(`${url}/api/v1/transactions/score`, options)).status
}

/** Calls the TLS listener on a new connection. */
function secureAnswer(port: number, client: TestCertificate | undefined, headers: Record<string, string> = {}) {
  const target = { host: '127.0.0.1', port, path: '/api/v1/transactions/score', servername: 'localhost', ca: serverAuthority.cert }
  return new Promise<{ status: number; text: string }>((resolve, reject) => {
    const sent = secureRequest({
      ...target,
      method: 'POST',
      agent: new Agent(),
      cert: client?.cert,
      key: client?.key,
      headers: { ...headers, 'content-type': 'application/json' },
    })
    sent.on('error', reject)
    sent.on('response', (response) => {
      let text = ''
      response.on('data', (data) => {
        text += data
      })
      response.on('end', () => resolve({ status: response.statusCode!, text }))
    })
    sent.end(body())
  })
}

test('a client certificate alone is enough on the TLS listener, but not one from an unknown authority', async () => {
  const { port, plain } = await served([])
  const payments = clientAuthority.issue({ commonName: 'payments', usage: 'client' })
  const answer = await secureAnswer(port, payments)
  expect(answer.status).toBe(200)
  expect(JSON.parse(answer.text)).toMatchObject({ transaction_id: 't1', decision: 'APPROVE' })
  expect((await secureAnswer(port, undefined)).status).toBe(401)
  const stranger = testAuthority('another authority').issue({ commonName: 'payments', usage: 'client' })
  expect((await secureAnswer(port, stranger)).status).toBe(401)
  expect(await statusOf(plain)).toBe(401)
})

test('a bad token is refused even with a certificate, but a token with another scope does not invalidate the certificate', async () => {
  const { port, key } = await served([])
  const payments = clientAuthority.issue({ commonName: 'payments', usage: 'client' })
  expect((await secureAnswer(port, payments, { authorization: 'Bearer bad' })).status).toBe(401)
  const token = await signToken(key, { sub: 'analyst-1', scope: 'fraud:analyst' })
  expect((await secureAnswer(port, payments, { authorization: `Bearer ${token}` })).status).toBe(200)
  expect((await secureAnswer(port, undefined, { authorization: `Bearer ${token}` })).status).toBe(403)
})

test('a connection from an address in SCORE_GATEWAYS is enough; a forwarded address is not, and a bad token is refused', async () => {
  const { plain } = await served(['127.0.0.1/32'])
  expect(await statusOf(plain)).toBe(200)
  expect(await statusOf(plain, { authorization: 'Bearer bad' })).toBe(401)
  const elsewhere = await served(['203.0.113.7'])
  expect(await statusOf(elsewhere.plain)).toBe(401)
  expect(await statusOf(elsewhere.plain, { 'x-forwarded-for': '203.0.113.7' })).toBe(401)
})

test('no rate limit refuses a payment by a caller with valid credentials, but requests without credentials are limited', async () => {
  const gateway = await served(['127.0.0.1/32'], undefined, REFUSE_ALL)
  expect(await statusOf(gateway.plain)).toBe(200)
  const payments = clientAuthority.issue({ commonName: 'payments', usage: 'client' })
  const certified = await served([], undefined, REFUSE_ALL)
  expect((await secureAnswer(certified.port, payments)).status).toBe(200)
  const internal = await served([], undefined, REFUSE_ALL)
  const token = await signToken(internal.key, { sub: 'payments', scope: 'internal' })
  expect(await statusOf(internal.plain, { authorization: `Bearer ${token}` })).toBe(200)
  expect(await statusOf(internal.plain)).toBe(429)
})

test('a payment is scored only after `started` has resolved', async () => {
  const asked = Promise.withResolvers<void>()
  const start = Promise.withResolvers<void>()
  let isStarted = false
  const { plain } = await served(['127.0.0.1/32'], () => {
    asked.resolve()
    return start.promise
  })
  const answered = statusOf(plain).then((status) => [status, isStarted])
  await asked.promise
  isStarted = true
  start.resolve()
  expect(await answered).toEqual([200, true])
})
