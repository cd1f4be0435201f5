import { once } from 'node:events'
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { Agent, request } from 'node:https'
import { connect as connectPlain, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type TLSSocket } from 'node:tls'
import { Registry } from 'prom-client'
import { describe, expect, onTestFinished, test } from 'vitest'
import { addressRanges } from '../../../../api/kit/client-address.ts'
import { connectionGate } from '../../../../api/kit/connections.ts'
import { type ServerLimits, startServer } from '../../../../api/kit/server.ts'
import { type ClientCertificates, clientCertificates } from '../../../../api/kit/tls/client-certificates.ts'
import { watchMaterial } from '../../../../api/kit/tls/watched-material.ts'
import { type TestAuthority, type TestCertificate, testAuthority } from '../../../stack/certificates.ts'
import { echoService } from '../echo-service.ts'
import { testApp } from '../harness.ts'

const HOUR_MS = 3_600_000
const CHECK_MS = 20

const serverAuthority = testAuthority('server authority')
const clientAuthority = testAuthority('client authority')
const serverCertificate = serverAuthority.issue({ commonName: 'localhost', dns: ['localhost'], usage: 'server' })
const payments = clientAuthority.issue({ commonName: 'payments', usage: 'client' })

interface ServedOptions {
  readonly clientCa?: string
  readonly names?: readonly string[]
  readonly limits?: Partial<ServerLimits>
  readonly connections?: number
  readonly bodyTimeoutMs?: number
  readonly host?: string
}

/** Serves the echo service over TLS, with certificate files that the test can replace. */
async function served({
  clientCa = clientAuthority.cert,
  names = [],
  limits,
  connections,
  bodyTimeoutMs,
  host = '127.0.0.1',
}: ServedOptions = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-tls-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const files = { certificate: join(folder, 'cert.pem'), key: join(folder, 'key.pem'), clientAuthorities: join(folder, 'ca.pem') }
  async function replace(contents: Partial<Record<keyof typeof files, string>>): Promise<void> {
    for (const [name, text] of Object.entries(contents)) {
      await writeFile(join(folder, 'draft'), text)
      await rename(join(folder, 'draft'), files[name as keyof typeof files])
    }
  }
  await replace({ certificate: serverCertificate.cert, key: serverCertificate.key, clientAuthorities: clientCa })
  const clock = { now: Date.now() }
  let clients: ClientCertificates | undefined
  const api = await testApp({ services: [echoService()], bodyTimeoutMs, certificateOf: (socket) => clients?.of(socket) })
  const registry = api.metrics.registry
  const material = await watchMaterial({ files, log: api.log, registry, now: () => clock.now, intervalMs: CHECK_MS })
  clients = clientCertificates({ material: () => material.current, names, now: () => clock.now })
  const gate =
    connections === undefined
      ? undefined
      : connectionGate({ total: connections, perAddress: connections, trusted: addressRanges([]), registry: new Registry() })
  const server = await startServer({
    ...api,
    host,
    port: 0,
    now: () => api.clock.now,
    limits,
    connections: gate,
    tls: { material, clients },
  })
  onTestFinished(async () => {
    await server.close(0)
    material.close()
  })
  const port = Number(new URL(server.url).port)
  const events = (event: string) => api.lines.filter((line) => line.event === event)
  return { ...api, server, port, replace, time: clock, events }
}

interface CallOptions {
  readonly client?: TestCertificate
  readonly agent?: Agent
  readonly headers?: Record<string, string>
  readonly serverCa?: string
}

/** Sends a request, on a new connection unless an agent is given. */
function call(port: number, path: string, { client, agent, headers, serverCa = serverAuthority.cert }: CallOptions = {}) {
  return new Promise<{ status: number; body: Record<string, string | null>; connection: string | undefined; socket: TLSSocket }>(
    (resolve, reject) => {
      const target = { host: '127.0.0.1', port, path, servername: 'localhost', ca: serverCa, agent: agent ?? new Agent(), headers }
      const sent = request({ ...target, cert: client?.cert, key: client?.key }, (response) => {
        let text = ''
        response.on('data', (data) => {
          text += data
        })
        const socket = response.socket as TLSSocket
        response.on('end', () =>
          resolve({ status: response.statusCode!, body: JSON.parse(text), connection: response.headers.connection, socket }),
        )
      })
      sent.on('error', reject)
      sent.end()
    },
  )
}

/** Opens a TLS connection, sends `bytes`, and returns everything that arrives until it closes. */
function raw(port: number, bytes: string, onData: () => void = () => undefined): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, servername: 'localhost', ca: serverAuthority.cert }, () => socket.write(bytes))
    let text = ''
    socket.on('data', (data) => {
      text += data.toString('latin1')
      onData()
    })
    socket.on('error', () => undefined)
    socket.on('close', () => resolve(text))
  })
}

/** Creates an agent with one connection that stays open. */
function keepingAgent(): Agent {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  onTestFinished(() => agent.destroy())
  return agent
}

/** Opens a TCP connection to one of the addresses of this machine. */
async function connected(options: { readonly host: string; readonly port: number; readonly localPort?: number }): Promise<Socket> {
  const socket = connectPlain({ ...options, localAddress: '127.0.0.1' })
  onTestFinished(() => void socket.destroy())
  await once(socket, 'connect')
  return socket
}

describe('client certificates', () => {
  const past = { notBefore: Date.now() - 2 * HOUR_MS, notAfter: Date.now() - HOUR_MS }
  const future = { notBefore: Date.now() + HOUR_MS, notAfter: Date.now() + 2 * HOUR_MS }
  const middle = clientAuthority.intermediate('department')
  const byMiddle = middle.issue({ commonName: 'by department', usage: 'client' })

  test.each<[string, TestCertificate | undefined, number, string]>([
    ['none', undefined, 401, 'token or client certificate is required.'],
    ['a valid one', payments, 200, 'payments'],
    ['one from an intermediate authority', { ...byMiddle, cert: byMiddle.cert + middle.cert }, 200, 'by department'],
    ['one without its intermediate authority', byMiddle, 401, 'its issuer is not trusted here'],
    ['one whose name is a URI', clientAuthority.issue({ uri: ['spiffe://pay/x'], usage: 'client' }), 200, 'spiffe://pay/x'],
    ['an expired one', clientAuthority.issue({ commonName: 'old', usage: 'client', ...past }), 401, 'it has expired'],
    ['one that is not valid yet', clientAuthority.issue({ commonName: 'new', usage: 'client', ...future }), 401, 'it is not valid yet'],
    ['one for servers', clientAuthority.issue({ commonName: 'web', usage: 'server' }), 401, 'it is not meant for clients'],
    [
      'one from another authority with the same name',
      testAuthority('client authority').issue({ commonName: 'payments', usage: 'client' }),
      401,
      'its issuer is not trusted here',
    ],
    ["one from the server's authority", serverAuthority.issue({ commonName: 'payments', usage: 'client' }), 401, 'not trusted here'],
    ['a self-signed one', testAuthority('payments'), 401, 'its issuer is not trusted here'],
  ])('%s', async (_what, client, status, text) => {
    const { port, lines } = await served()
    const answered = await call(port, '/certified', { client })
    expect(answered.status).toBe(status)
    expect(answered.body.subject ?? answered.body.message).toContain(text)
    const [completed] = lines.filter(({ event }) => event === 'request_completed')
    expect(completed.certificate).toBe(status === 200 ? text : undefined)
  })

  test.each([
    ['has expired', past],
    ['is not valid yet', future],
  ])(
    'if the certificate of the issuer %s, the answer says this of the issuer and not of the client certificate',
    async (what, validity) => {
      const authority = testAuthority('client authority', validity)
      const { port } = await served({ clientCa: authority.cert })
      const { status, body } = await call(port, '/certified', { client: authority.issue({ commonName: 'payments', usage: 'client' }) })
      expect([status, body.message]).toEqual([401, expect.stringContaining(`not accepted: the certificate of its issuer ${what}.`)])
    },
  )

  test('a certificate without any name is identified by its fingerprint', async () => {
    const { port } = await served()
    const answered = await call(port, '/certified', { client: clientAuthority.issue({ usage: 'client' }) })
    expect(answered.body.subject).toMatch(/^([0-9A-F]{2}:){31}[0-9A-F]{2}$/)
  })

  test('only certificates with a configured name are accepted, in whichever field they contain it', async () => {
    const { port } = await served({ names: ['payments', 'pay.example', 'spiffe://pay/x'] })
    const status = async (client: TestCertificate) => (await call(port, '/certified', { client })).status
    expect(await status(payments)).toBe(200)
    expect(await status(clientAuthority.issue({ commonName: 'a', dns: ['b.example', 'pay.example'], usage: 'client' }))).toBe(200)
    expect(await status(clientAuthority.issue({ uri: ['spiffe://pay/x'], usage: 'client' }))).toBe(200)
    expect(await status(clientAuthority.issue({ commonName: 'other', usage: 'client' }))).toBe(401)
    expect(await status(clientAuthority.issue({ commonName: 'other', uri: ['x:a, DNS:pay.example'], usage: 'client' }))).toBe(401)
  })

  test('a token works with and without a certificate, and a bad token is refused despite a certificate', async () => {
    const { port, bearer } = await served()
    const headers = await bearer({ sub: 'pipeline', scope: 'internal' })
    expect((await call(port, '/certified', { headers })).body).toEqual({ kind: 'token', subject: 'pipeline' })
    expect((await call(port, '/certified', { headers, client: payments })).body.kind).toBe('token')
    const bad = await call(port, '/certified', { headers: { authorization: 'Bearer garbage' }, client: payments })
    expect([bad.status, bad.body.error]).toEqual([401, 'unauthorized'])
  })

  test('clients are identified on two connections from the same port to different addresses of the API', async () => {
    const { port } = await served({ host: '0.0.0.0' })
    const first = await connected({ host: '127.0.0.1', port })
    const second = await connected({ host: '127.0.0.2', port, localPort: first.localPort })
    for (const socket of [first, second]) {
      const { key, cert } = payments
      const encrypted = connect({ socket, servername: 'localhost', ca: serverAuthority.cert, key, cert })
      encrypted.end('GET /certified HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
      expect(String(await encrypted.toArray())).toMatch(/^HTTP\/1.1 200/)
    }
  })

  test('a certificate that expires while its connection is open is no longer accepted', async () => {
    const { port, time } = await served()
    const agent = keepingAgent()
    const first = await call(port, '/certified', { agent, client: payments })
    time.now += 2 * HOUR_MS
    const second = await call(port, '/certified', { agent, client: payments })
    expect(second.socket).toBe(first.socket)
    expect([first.status, second.status, second.body.message]).toEqual([200, 401, expect.stringContaining('it has expired')])
  })

  test('TLS sessions are never resumed, because a resumed session would keep the result of the earlier certificate check', async () => {
    const { port } = await served()
    const reused = await Promise.all(
      ['TLSv1.2', 'TLSv1.3'].map(async (maxVersion) => {
        const agent = new Agent({ maxVersion: maxVersion as 'TLSv1.2' | 'TLSv1.3', keepAlive: false })
        await call(port, '/certified', { agent, client: payments })
        return (await call(port, '/certified', { agent, client: payments })).socket.isSessionReused()
      }),
    )
    expect(reused).toEqual([false, false])
  })
})

describe('replaced files', () => {
  const truncatedAuthorities = () => serverAuthority.cert + clientAuthority.cert.slice(0, -100)
  const subjectKey = (socket: TLSSocket) => socket.getPeerX509Certificate()!.fingerprint256

  test('new connections get the new certificate, and open ones continue', async () => {
    const { port, replace, events, metrics } = await served()
    const agent = keepingAgent()
    const before = await call(port, '/certified', { agent, client: payments })
    const next = serverAuthority.issue({ commonName: 'localhost', dns: ['localhost'], usage: 'server', notAfter: 4_102_444_800_000 })
    await replace({ certificate: next.cert, key: next.key })
    await expect.poll(() => events('tls_files_replaced').length).toBe(1)
    const after = await call(port, '/certified', { client: payments })
    expect(subjectKey(after.socket)).not.toBe(subjectKey(before.socket))
    const again = await call(port, '/certified', { agent, client: payments })
    expect([again.status, again.socket === before.socket]).toEqual([200, true])
    expect(await metrics.text()).toContain('tls_certificate_expires_timestamp_seconds 4102444800')
  })

  test.each<[string, () => Record<string, string>, string]>([
    ['a key that belongs to another certificate', () => ({ key: clientAuthority.key }), 'API_TLS_KEY'],
    ['a truncated certificate', () => ({ certificate: serverCertificate.cert.slice(0, 200) }), 'API_TLS_CERT'],
    ['a malformed certificate', () => ({ certificate: serverCertificate.cert.replaceAll(/[ABC]/g, 'D') }), 'API_TLS_CERT'],
    ['no authorities', () => ({ clientAuthorities: '' }), 'API_TLS_CLIENT_CA'],
    ['a truncated list of authorities', () => ({ clientAuthorities: truncatedAuthorities() }), 'API_TLS_CLIENT_CA'],
  ])('%s: the old files stay in use, and the log says why', async (_what, broken, setting) => {
    const { port, replace, events, metrics } = await served()
    await replace(broken())
    await expect.poll(() => events('tls_files_not_usable').length).toBe(1)
    expect(events('tls_files_not_usable')[0].reason).toContain(setting)
    expect((await call(port, '/certified', { client: payments })).status).toBe(200)
    await replace({ certificate: serverCertificate.cert, key: serverCertificate.key, clientAuthorities: clientAuthority.cert })
    await replace({ clientAuthorities: clientAuthority.cert + serverAuthority.cert })
    await expect.poll(() => events('tls_files_replaced').length).toBe(1)
    // The same fault is logged only once, however often the files are read. The files are replaced one after another,
    // so a read between two replacements may find one further fault.
    expect(events('tls_files_not_usable').length).toBeLessThanOrEqual(2)
    expect(await metrics.text()).toMatch(/tls_files_not_usable_total [12]/)
  })

  test.each([
    ['has expired', -2, -1, 'the certificate expired at'],
    ['is not valid yet', 0.5, 2, 'the certificate is not valid before'],
  ])('a certificate that %s does not replace one that is valid', async (_what, fromHours, untilHours, reason) => {
    const { port, replace, events, time } = await served()
    const before = subjectKey((await call(port, '/certified', { client: payments })).socket)
    const [notBefore, notAfter] = [fromHours, untilHours].map((hours) => Date.now() + hours * HOUR_MS)
    const next = serverAuthority.issue({ commonName: 'localhost', dns: ['localhost'], usage: 'server', notBefore, notAfter })
    await replace({ certificate: next.cert, key: next.key })
    await expect.poll(() => events('tls_files_not_usable').at(-1)?.reason).toContain(reason)
    const { status, socket } = await call(port, '/certified', { client: payments })
    expect([status, subjectKey(socket)]).toEqual([200, before])
    // The new certificate is used as soon as it is valid or the old one has expired, without a further change to the
    // files.
    time.now += fromHours > 0 ? fromHours * HOUR_MS : 2 * HOUR_MS
    await expect.poll(() => events('tls_files_replaced').length).toBe(1)
  })

  test('an authority can be withdrawn while a new certificate is not valid yet', async () => {
    const { port, replace, events } = await served()
    const before = subjectKey((await call(port, '/certified', { client: payments })).socket)
    const [notBefore, notAfter] = [1, 2].map((hours) => Date.now() + hours * HOUR_MS)
    const next = serverAuthority.issue({ commonName: 'localhost', dns: ['localhost'], usage: 'server', notBefore, notAfter })
    await replace({ certificate: next.cert, key: next.key })
    await expect.poll(() => events('tls_files_not_usable').at(-1)?.reason).toContain('is not valid before')
    await replace({ clientAuthorities: testAuthority('other authority').cert })
    await expect.poll(() => events('tls_files_replaced').length).toBe(1)
    const { status, socket } = await call(port, '/certified', { client: payments })
    expect([status, subjectKey(socket)]).toEqual([401, before])
  })

  test('an authority that is withdrawn is no longer trusted, not even on open connections', async () => {
    const { port, replace, events } = await served()
    const agent = keepingAgent()
    const before = await call(port, '/certified', { agent, client: payments })
    const other: TestAuthority = testAuthority('other authority')
    await replace({ clientAuthorities: other.cert })
    await expect.poll(() => events('tls_files_replaced').length).toBe(1)
    const open = await call(port, '/certified', { agent, client: payments })
    // The server also closes the connection, so a client that has already obtained a trusted certificate is refused
    // only once.
    expect(open.connection).toBe('close')
    expect([open.status, open.socket === before.socket, open.body.message]).toEqual([
      401,
      true,
      expect.stringContaining('the trusted authorities have changed'),
    ])
    expect((await call(port, '/certified', { client: payments })).status).toBe(401)
    expect((await call(port, '/certified', { client: other.issue({ commonName: 'x', usage: 'client' }) })).status).toBe(200)
  })

  test('an authority that renews its certificate stays trusted on open connections', async () => {
    const { port, replace, events } = await served()
    const agent = keepingAgent()
    await call(port, '/certified', { agent, client: payments })
    await replace({ clientAuthorities: clientAuthority.renewed().cert })
    await expect.poll(() => events('tls_files_replaced').length).toBe(1)
    expect((await call(port, '/certified', { agent, client: payments })).status).toBe(200)
  })

  test('a metric contains the earliest expiry of the client authorities', async () => {
    const [first, second] = [2, 3].map((hours) => Date.now() + hours * HOUR_MS)
    const authorities = [second, first].map((notAfter) => testAuthority('client authority', { notAfter }).cert)
    const { metrics } = await served({ clientCa: authorities.join('') })
    expect(await metrics.text()).toContain(`tls_client_authority_expires_timestamp_seconds ${Math.floor(first / 1_000)}`)
  })

  test('files that are not usable prevent the start', async () => {
    await expect(served({ clientCa: 'nothing' })).rejects.toThrow('API_TLS_CLIENT_CA: the file contains no certificate')
    const files = { certificate: '/nowhere/cert.pem', key: '/nowhere/key.pem', clientAuthorities: '/nowhere/ca.pem' }
    const { log } = await testApp()
    // Only the first error is reported. It may be about any of the three files, because they are read concurrently.
    await expect(watchMaterial({ files, log, registry: new Registry(), now: Date.now })).rejects.toThrow(
      /API_TLS_(CERT|KEY|CLIENT_CA): the file cannot be read/,
    )
  })
})

describe('the limits of the plain HTTP server also hold for TLS', () => {
  test('headers that arrive too slowly fail with request_timeout', async () => {
    const { port } = await served({ limits: { headersTimeoutMs: 200, requestTimeoutMs: 400, checkIntervalMs: 20, lingerMs: 20 } })
    expect(await raw(port, 'GET / HTTP/1.1\r\nHost')).toMatch(/^HTTP\/1\.1 408 [\s\S]*"error":"request_timeout"/)
  })

  test('a body that is too large or too slow is refused', async () => {
    const { port } = await served({ bodyTimeoutMs: 20 })
    const put = (bytes: number, body: string) =>
      `PUT /items/a HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${bytes}\r\n\r\n${body}`
    expect(await raw(port, put(65, ''))).toMatch(/^HTTP\/1\.1 413 [\s\S]*"error":"content_too_large"/)
    expect(await raw(port, put(12, '{"te'))).toMatch(/^HTTP\/1\.1 408 [\s\S]*"error":"request_timeout"/)
  })

  test('a handshake that is too slow is aborted and counted', async () => {
    const { server, port, metrics } = await served({ limits: { headersTimeoutMs: 100 } })
    const socket = connectPlain(port, '127.0.0.1')
    await new Promise((resolve) => socket.on('close', resolve))
    await expect.poll(() => server.connections()).toBe(0)
    expect(await metrics.text()).toContain('tls_handshakes_failed_total 1')
  })

  test('plain HTTP on the port is not answered', async () => {
    const { port, events } = await served()
    await expect(fetch(`http://127.0.0.1:${port}/open`)).rejects.toThrow()
    await expect.poll(() => events('tls_handshake_failed').length).toBe(1)
  })

  test('connections above the limit are closed, and connections in their handshake count towards the limit', async () => {
    const { server, port } = await served({ connections: 2 })
    const held = [1, 2].map(() => connectPlain(port, '127.0.0.1'))
    await expect.poll(() => server.connections()).toBe(2)
    await expect(call(port, '/open')).rejects.toThrow()
    for (const socket of held) socket.destroy()
    await expect.poll(() => server.connections()).toBe(0)
    expect((await call(port, '/open')).status).toBe(200)
    await expect.poll(() => server.connections()).toBe(0)
    expect((await call(port, '/open')).status).toBe(200)
  })

  test('closing waits for running requests up to its time limit, but not for handshakes', async () => {
    const { server, port } = await served()
    const inHandshake = connectPlain(port, '127.0.0.1')
    inHandshake.on('error', () => undefined)
    const head = 'PUT /items/a HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n'
    const begun = Promise.withResolvers<void>()
    const running = raw(port, head, begun.resolve)
    // Waits until the server has begun to handle the request. If the server were closed earlier, it would treat the
    // connection as idle.
    await begun.promise
    await expect.poll(() => server.connections()).toBe(2)
    const cut = server.close(300)
    await new Promise((resolve) => inHandshake.on('close', resolve))
    expect(await cut).toBe(1)
    expect(await running).toBe('HTTP/1.1 100 Continue\r\n\r\n')
  })
})
