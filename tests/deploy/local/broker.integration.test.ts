import { join } from 'node:path'
import { Admin } from '@platformatic/kafka'
import { expect, onTestFinished, test } from 'vitest'
import { kafkaBroker } from '../../../deploy/local/kafka/broker.ts'
import type { BrokerSettings } from '../../../deploy/local/kafka/settings.ts'
import { freePort } from '../../../deploy/local/ports.ts'
import { guardedFolder } from '../../stack/folder.ts'
import { privateKafka, testStack, uniqueName } from '../../stack/index.ts'
import { TEST_HEAP_MB, TEST_JAVA_OPTIONS, TOOLS } from '../../stack/servers.ts'

async function topicsOf(broker: string): Promise<string[]> {
  const admin = new Admin({ clientId: 'test', bootstrapBrokers: [broker] })
  try {
    return await admin.listTopics()
  } finally {
    await admin.close()
  }
}

async function createTopic(broker: string, topic: string): Promise<void> {
  const admin = new Admin({ clientId: 'test', bootstrapBrokers: [broker] })
  try {
    await admin.createTopics({ topics: [topic], partitions: 2, replicas: 1 })
  } finally {
    await admin.close()
  }
}

test('the shared broker creates topics', async () => {
  const broker = await testStack().kafka()
  const topic = uniqueName('broker-test')
  await createTopic(broker, topic)
  expect(await topicsOf(broker)).toContain(topic)
})

test('a broker killed with -9 restarts on the same port with its topics', async () => {
  const broker = await privateKafka()
  await createTopic(broker.address, 'kept')
  await broker.kill()
  expect(await broker.isHealthy()).toBe(false)
  await broker.start()
  expect(await topicsOf(broker.address)).toContain('kept')
})

test('a broker that an earlier run has left running is reused only if it has the requested heap size and settings', async () => {
  const { path } = guardedFolder()
  const place = { dataDir: join(path, 'kafka'), runDir: join(path, 'run'), logFile: join(path, 'kafka.log'), toolsDir: TOOLS }
  const ports = { client: await freePort(), controller: await freePort() }
  const brokerWith = (heapMb: number, settings?: BrokerSettings) =>
    kafkaBroker({ ...place, ports, heapMb, javaOptions: TEST_JAVA_OPTIONS, settings })
  await brokerWith(TEST_HEAP_MB).start()
  expect(await brokerWith(TEST_HEAP_MB).start()).toBe('reused')
  const larger = brokerWith(TEST_HEAP_MB + 16)
  onTestFinished(() => larger.kill())
  expect(await larger.start()).toBe('started')
  const changed = brokerWith(TEST_HEAP_MB + 16, { 'num.partitions': 3 })
  onTestFinished(() => changed.kill())
  expect(await changed.start()).toBe('started')
})
