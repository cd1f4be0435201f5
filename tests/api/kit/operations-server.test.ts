import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { httpMetrics } from '../../../api/kit/metrics.ts'
import { startOperationsServer } from '../../../api/kit/operations-server.ts'
import { type ReadinessProbe, readiness } from '../../../api/kit/readiness.ts'
import { statusOf } from '../../status-of.ts'

const served = (...probes: ReadinessProbe[]) => servedOn('127.0.0.1', ...probes)

async function servedOn(host: string, ...probes: ReadinessProbe[]): Promise<string> {
  const metrics = httpMetrics({ process: false })
  const server = await startOperationsServer({ readiness: readiness(probes), metrics, host, port: 0 })
  onTestFinished(() => server.close())
  return server.url
}

test('/readyz gives a reason for each required part that is missing and each optional part that is degraded', async () => {
  const url = await served(
    { name: 'redis', check: () => Promise.reject(new Error('connect ECONNREFUSED 10.0.0.7:6379')) },
    { name: 'kafka', optional: true, check: async () => 'away' },
  )
  const response = await fetch(`${url}/readyz`)
  expect([response.status, await response.json()]).toEqual([
    503,
    {
      status: 'not_ready',
      missing: [{ name: 'redis', reason: 'connect ECONNREFUSED 10.0.0.7:6379' }],
      degraded: [{ name: 'kafka', reason: 'away' }],
    },
  ])
})

test('/readyz, /livez and /metrics answer 200, other paths 404 and other methods 405', async () => {
  const url = await served()
  expect(await (await fetch(`${url}/readyz?x`)).json()).toEqual({ status: 'ready', degraded: [] })
  expect(await (await fetch(`${url}/livez`)).json()).toEqual({ status: 'alive' })
  const metrics = await fetch(`${url}/metrics`)
  expect(metrics.headers.get('content-type')).toContain('text/plain')
  expect(await metrics.text()).toContain('# TYPE http_request_duration_seconds histogram')
  expect((await fetch(`${url}/api/v1/urls`)).status).toBe(404)
  expect((await fetch(`${url}/metrics`, { method: 'POST' })).status).toBe(405)
})

test.each<Record<string, string>>([{ host: 'rebound.example' }, { origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }])(
  'a server on a loopback address refuses requests from pages of other sites: %j',
  async (headers) => {
    const url = await served()
    for (const path of ['/metrics', '/readyz']) expect(await statusOf(`${url}${path}`, headers)).toBe(403)
  },
)

test('a server that does not listen on a loopback address accepts every host name', async () => {
  const { port } = new URL(await servedOn('0.0.0.0'))
  expect(await statusOf(`http://127.0.0.1:${port}/metrics`, { host: 'api-1.internal' })).toBe(200)
})

test('a user can open the URL of a server on a loopback address in a browser', async () => {
  expect(await statusOf(`${await served()}/metrics`, { 'sec-fetch-site': 'none' })).toBe(200)
})

test('a port that is in use is reported with the name of its setting', async () => {
  const port = Number(new URL(await served()).port)
  const metrics = httpMetrics({ process: false })
  const second = startOperationsServer({ readiness: readiness([]), metrics, host: '127.0.0.1', port })
  await expect(second).rejects.toThrow(/in use.*OPERATIONS_PORT/)
})

test('connections without traffic are closed', async () => {
  const metrics = httpMetrics({ process: false })
  const server = await startOperationsServer({
    readiness: readiness([]),
    metrics,
    host: '127.0.0.1',
    port: 0,
    silentConnectionMs: 50,
  })
  onTestFinished(() => server.close())
  let isClosed = false
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1', () => socket.write('GET /livez HTTP/1.1\r\n'))
  socket.on('close', () => {
    isClosed = true
  })
  socket.on('error', () => {})
  onTestFinished(() => void socket.destroy())
  await expect.poll(() => isClosed).toBe(true)
})
