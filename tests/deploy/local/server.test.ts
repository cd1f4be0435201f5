import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { findChild, startChild } from '../../../deploy/local/child.ts'
import { kafkaBroker } from '../../../deploy/local/kafka/broker.ts'
import { freePort, LOOPBACK } from '../../../deploy/local/ports.ts'
import { serverComponent } from '../../../deploy/local/server.ts'
import { waitUntil } from '../../../deploy/local/wait.ts'
import { guardedFolder } from '../../stack/folder.ts'

async function occupiedPort(): Promise<number> {
  const port = await freePort()
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(port, LOOPBACK, resolve))
  onTestFinished(() => void server.close())
  return port
}

test.each(['client', 'controller'])('if the %s port is in use, the error names the setting for that port', async (taken) => {
  const folder = guardedFolder().path
  const port = await occupiedPort()
  const ports = { client: await freePort(), controller: await freePort(), [taken]: port }
  const broker = kafkaBroker({
    ports,
    dataDir: join(folder, 'kafka'),
    runDir: join(folder, 'run'),
    logFile: join(folder, 'kafka.log'),
    toolsDir: folder,
    heapMb: 256,
  })
  const setting = taken === 'client' ? 'KAFKA_PORT' : 'KAFKA_CONTROLLER_PORT'
  await expect(broker.start()).rejects.toThrow(
    `kafka: port ${port} is in use by another program. Stop it, or choose another port with ${setting}`,
  )
})

/** Describes a server whose process runs but never responds. */
function silentServer(folder: string) {
  const runDir = join(folder, 'run')
  const asked = Promise.withResolvers<void>()
  const process = { name: 'silent', command: 'sleep', args: ['1000000'], cwd: folder, logFile: join(folder, 'log'), runDir }
  const component = serverComponent({
    ...process,
    address: '',
    ports: {},
    dataDir: folder,
    startTimeoutMs: 10 * 60_000,
    stopGraceMs: 5_000,
    prepare: async () => process,
    async isHealthy() {
      asked.resolve()
      return false
    },
  })
  return { component, asked: asked.promise, process, isRunning: () => findChild(runDir, process.name) !== undefined }
}

test.each(['is starting', 'an earlier run has left running'])(
  'a stop does not wait for the response of a server that %s',
  async (which) => {
    const { component, asked, process, isRunning } = silentServer(guardedFolder().path)
    if (which !== 'is starting') await startChild({ ...process, fingerprint: component.address })
    const starting = component.start().catch((error: Error) => error.message)
    await asked
    expect(isRunning()).toBe(true)
    await component.stop()
    expect(await starting).toMatch(/^silent: /)
    expect(isRunning()).toBe(false)
  },
)

test('a stop during a restart does not wait for the response of the new process', async () => {
  const { component, isRunning } = silentServer(guardedFolder().path)
  void component.start().catch(() => undefined)
  await waitUntil(() => component.pid !== undefined, { what: 'the first process', timeoutMs: 10_000 })
  await component.kill()
  const restarting = component.start().catch((error: Error) => error.message)
  await waitUntil(isRunning, { what: 'the second process', timeoutMs: 10_000 })
  await component.stop()
  expect(await restarting).toMatch(/^silent: /)
  expect(isRunning()).toBe(false)
})
