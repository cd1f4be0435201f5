import { Admin } from '@platformatic/kafka'
import { expect, test } from 'vitest'
import { privateKafka, testStack, uniqueName } from '../../stack/index.ts'

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
