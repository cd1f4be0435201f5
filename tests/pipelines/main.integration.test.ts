import { once } from 'node:events'
import { createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { startWorkerProcess } from '../api/worker-process.ts'
import { guardedFolder } from '../stack/folder.ts'
import { testStack } from '../stack/index.ts'

test('a worker whose port is in use ends and gives the reason', { timeout: 60_000 }, async () => {
  const folder = guardedFolder()
  onTestFinished(() => folder.finish())
  const occupant = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void occupant.close())
  await once(occupant, 'listening')
  const kafka = await testStack().kafka()
  const { port } = occupant.address() as { port: number }
  const env = { PIPELINES: 'links', KAFKA_BROKERS: kafka, HEALTH_PORT: String(port) }
  const reason = `the health port cannot be opened: port ${port} is in use`
  await expect(startWorkerProcess(folder.path, env)).rejects.toThrow(`the worker ended with 1: the worker stopped: ${reason}`)
})
