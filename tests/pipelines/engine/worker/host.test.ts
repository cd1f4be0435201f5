import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { memoryTransport } from '../../../../kafka/memory/transport.ts'
import { topology } from '../../../../pipelines/engine/topology/topology.ts'
import { startHost } from '../../../../pipelines/engine/worker/host.ts'
import { engineMetrics, serveIntrospection } from '../../../../pipelines/engine/worker/introspection.ts'
import { memberIdentity } from '../../../../pipelines/engine/worker/member-identity.ts'
import type { Runner } from '../../../../pipelines/engine/worker/runner.ts'
import { createWorker } from '../../../../pipelines/engine/worker/worker.ts'
import { workerRunner } from '../../../../pipelines/engine/worker/worker-runner.ts'
import { systemRuntime } from '../../../../runtime/system.ts'
import { memoryBackend } from '../../../../state/stores/memory-backend.ts'
import { statusOf } from '../../../status-of.ts'
import { bench, newIdentity, until } from '../harness.ts'
import { lines, wordCount, wordCounts } from '../words.ts'

async function hosted(...runners: (() => Runner)[]) {
  const backend = memoryBackend()
  const deps = { backend, runtime: systemRuntime(), runners: () => runners.map((create) => create()) }
  const host = await startHost({ healthPort: 0, healthHost: '127.0.0.1' }, deps)
  onTestFinished(() => host.stop())
  async function get(path: string): Promise<{ status: number; text: string }> {
    const response = await fetch(`http://127.0.0.1:${host.healthPort}${path}`)
    return { status: response.status, text: await response.text() }
  }
  return { host, get }
}

function wordRunner(at: ReturnType<typeof bench>, tested = wordCount()): Runner {
  const deps = {
    transport: memoryTransport(at.broker),
    registry: at.registry,
    backend: memoryBackend(),
    identity: newIdentity(),
    runtime: systemRuntime(),
  }
  return workerRunner(createWorker({ topology: tested }, deps))
}

test('a host reports whether it is alive and ready, which topologies it runs, and their progress', async () => {
  const at = bench()
  const { get } = await hosted(() => wordRunner(at))
  await until(async () => (await get('/readyz')).status === 200, 'ready')
  at.send(lines, 'ann', 'to be')
  await until(() => at.latest(wordCounts).get('be') === 1, 'counted')
  expect((await get('/livez')).status).toBe(200)
  expect((await get('/topology')).text).toContain('source words-by-word-repartition')
  expect((await get('/topology?format=mermaid')).text).toContain('flowchart LR')
  const tasks = JSON.parse((await get('/tasks')).text)
  expect(tasks.words).toMatchObject({ kind: 'topology', state: 'running', ready: true, restoring: [] })
  expect(tasks.words.tasks).toHaveLength(5)
  expect(tasks.words.tasks[0]).toMatchObject({ task: '0_0', state: 'RUNNING', lag: 0, sources: [{ topic: 'lines', partition: 0 }] })
  const metrics = (await get('/metrics')).text
  expect(metrics).toContain('millrace_records_processed_total{topology="words"} 3')
  expect(metrics).toContain('millrace_worker_ready{topology="words"} 1')
  expect(metrics).toContain('millrace_state_memory_bytes')
  expect((await get('/metrics')).text).toContain('millrace_records_processed_total{topology="words"} 3')
  expect((await get('/elsewhere')).status).toBe(404)
})

test.each<Record<string, string>>([{ host: 'rebound.example' }, { origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }])(
  'a host on a loopback address refuses the requests of a web page that sends the header %j',
  async (headers) => {
    const at = bench()
    const { host } = await hosted(() => wordRunner(at))
    for (const path of ['/state', '/tasks', '/metrics']) {
      expect(await statusOf(`http://127.0.0.1:${host.healthPort}${path}`, headers)).toBe(403)
    }
    expect(await statusOf(`http://127.0.0.1:${host.healthPort}/tasks`, { host: 'localhost', 'sec-fetch-site': 'none' })).toBe(200)
  },
)

test('a host accepts requests for its own name, and for unknown names unless it listens on a loopback address', async () => {
  const deps = { backend: memoryBackend(), runtime: systemRuntime(), runners: () => [wordRunner(bench())] }
  const named = await startHost({ healthPort: 0, healthHost: '127.0.0.1', address: 'http://worker-1.internal:9400' }, deps)
  const open = await startHost({ healthPort: 0, healthHost: '0.0.0.0' }, deps)
  onTestFinished(async () => {
    await Promise.all([named.stop(), open.stop()])
  })
  expect(await statusOf(`http://127.0.0.1:${named.healthPort}/metrics`, { host: 'worker-1.internal:9400' })).toBe(200)
  expect(await statusOf(`http://127.0.0.1:${named.healthPort}/metrics`, { host: 'worker-2.internal:9400' })).toBe(403)
  expect(await statusOf(`http://127.0.0.1:${open.healthPort}/metrics`, { host: 'worker-1.internal:9400' })).toBe(200)
})

test('a host that listens on an IPv6 address announces a valid URL', async () => {
  let address = ''
  const runners = (_: unknown, announced: string) => {
    address = announced
    return [wordRunner(bench())]
  }
  const host = await startHost({ healthPort: 0, healthHost: '::1' }, { backend: memoryBackend(), runtime: systemRuntime(), runners })
  onTestFinished(() => host.stop())
  expect(address).toBe(`http://[::1]:${host.healthPort}`)
  expect((await fetch(`${address}/livez`)).status).toBe(200)
})

test('the health port closes a connection that falls silent before its request is complete', async () => {
  const metrics = engineMetrics(() => [], memoryBackend())
  const parts = { port: 0, host: '127.0.0.1', runners: () => [], metrics, isStopping: () => false, queryAccess: 'off' as const }
  const server = await serveIntrospection({ ...parts, silentConnectionMs: 50 })
  onTestFinished(() => server.close())
  const socket = connect(server.port, '127.0.0.1', () => socket.write('GET /livez HTTP/1.1\r\n'))
  let received = ''
  socket.on('data', (bytes) => {
    received += bytes
  })
  socket.on('error', () => {})
  onTestFinished(() => void socket.destroy())
  await until(() => socket.closed, 'closed')
  // The server closes the connection without an answer, because the request was never complete.
  expect([socket.bytesWritten > 0, received]).toEqual([true, ''])
})

test('a host is not ready while a runner starts, and reports the reason that this runner gives', async () => {
  const at = bench()
  at.registry.unreachable = true
  const backend = memoryBackend()
  const never: Runner = {
    ...wordRunner(at),
    name: 'slow',
    start: () => new Promise(() => {}),
    notReady: () => 'the state of 2 tasks is being restored; 10 offsets remain',
  }
  const host = await startHost({ healthPort: 0, healthHost: '127.0.0.1' }, { backend, runtime: systemRuntime(), runners: () => [never] })
  const response = await fetch(`http://127.0.0.1:${host.healthPort}/readyz`)
  expect(response.status).toBe(503)
  expect(await response.json()).toEqual({
    status: 'not_ready',
    missing: [{ name: 'slow', reason: 'the state of 2 tasks is being restored; 10 offsets remain' }],
  })
})

test('one process hosts several topologies, and when one fails, the host stops the others and reports the failure', async () => {
  const at = bench()
  const fragile = topology('fragile', (t) => {
    t.source(lines).process('parse', {}, (line) => {
      if (line === 'bad') throw new Error('cannot parse')
    })
  })
  const { host } = await hosted(
    () => wordRunner(at),
    () => wordRunner(at, fragile),
  )
  at.send(lines, 'ann', 'good')
  await until(() => at.latest(wordCounts).get('good') === 1, 'a word is counted')
  at.send(lines, 'ann', 'bad')
  await expect(host.done).rejects.toThrow('fragile/parse failed')
  expect(at.broker.groups.members('words')).toEqual([])
})

test('if a runner cannot be created, the host closes its port and reports the reason', async () => {
  let address = ''
  function runners(_: unknown, announced: string): never {
    address = announced
    throw new Error('the identity is damaged')
  }
  const starting = startHost({ healthPort: 0, healthHost: '127.0.0.1' }, { backend: memoryBackend(), runtime: systemRuntime(), runners })
  await expect(starting).rejects.toThrow('the identity is damaged')
  await expect(fetch(`${address}/readyz`)).rejects.toThrow()
})

test('if the health port is in use, the error names the setting that changes the port', async () => {
  const at = bench()
  const { host } = await hosted(() => wordRunner(at))
  const deps = { backend: memoryBackend(), runtime: systemRuntime(), runners: () => [] }
  await expect(startHost({ healthPort: host.healthPort, healthHost: '127.0.0.1' }, deps)).rejects.toThrow('is in use: set HEALTH_PORT')
})

test('the identity of a worker is created once and persisted', () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-identity-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const made = memberIdentity(folder, 'words')
  expect(memberIdentity(folder, 'words')).toMatchObject({ memberId: made.memberId, transactionalId: made.transactionalId })
  expect(made.transactionalId).toBe(`millrace-words-${made.memberId}`)
  expect(memberIdentity(folder, 'other').memberId).not.toBe(made.memberId)
  const replacement = randomUUID()
  made.keepMemberId?.(replacement)
  expect(memberIdentity(folder, 'words')).toMatchObject({ memberId: replacement, transactionalId: made.transactionalId })
  const file = join(folder, 'identity-words.json')
  writeFileSync(file, readFileSync(file, 'utf8').slice(0, 10))
  expect(() => memberIdentity(folder, 'words')).toThrow('is damaged: delete it')
})
