import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { kafkaBroker } from '../../../deploy/local/kafka/broker.ts'
import { freePort, LOOPBACK } from '../../../deploy/local/ports.ts'
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
