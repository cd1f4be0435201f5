import { expect, test } from 'vitest'
import { provisionTopics } from '../../../deploy/local/provision.ts'
import { connected } from '../../kafka/client/harness.ts'
import { privateKafka, privateRegistry } from '../../stack/index.ts'

test('topics for production have the partitions that are planned; one that is there keeps its own', async () => {
  const kafka = await privateKafka()
  const registry = await privateRegistry(kafka.address)
  const transport = await connected(kafka.address)
  await transport.ensureTopics([{ name: 'tweets', partitions: 3 }])
  await provisionTopics(kafka.address, registry.address, 'production')
  const planned = {
    tweets: 3,
    'trend-output': 8,
    'trends-counts-repartition': 32,
    'trends-tracked-repartition': 32,
    'trends-candidates-repartition': 8,
    'limit-rules': 1,
  }
  expect(Object.fromEntries(await transport.partitionCounts(Object.keys(planned)))).toEqual(planned)
})
