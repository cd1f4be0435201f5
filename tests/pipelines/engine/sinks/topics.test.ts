import { expect, test } from 'vitest'
import { memoryBroker } from '../../../../kafka/memory/broker.ts'
import { memoryTransport } from '../../../../kafka/memory/transport.ts'
import { prepareSinkTopics } from '../../../../pipelines/engine/sinks/topics.ts'
import { jsonTopic } from './json-topic.ts'
import { memoryTarget } from './memory-target.ts'

function world() {
  const broker = memoryBroker()
  return { broker, transport: memoryTransport(broker), target: memoryTarget().target }
}

test('missing topics are created, and the partitions of existing topics stay unchanged', async () => {
  const { broker, transport, target } = world()
  broker.createTopic({ name: 'one', partitions: 32 })
  const topics = [jsonTopic('one', 4), jsonTopic('two', 4, { 'cleanup.policy': 'compact' })]
  await prepareSinkTopics(transport, 'sink', topics, target)
  expect(broker.partitionCount('one')).toBe(32)
  expect(broker.topic('two')).toEqual({ name: 'two', partitions: 4, config: { 'cleanup.policy': 'compact' } })
})

test('a target that is partitioned like its topics requires equal partition counts', async () => {
  const { broker, transport, target } = world()
  broker.createTopic({ name: 'one', partitions: 32 })
  const topics = [jsonTopic('one', 4), jsonTopic('two', 4)]
  const attempt = prepareSinkTopics(transport, 'sink', topics, { ...target, needsEqualPartitions: true })
  await expect(attempt).rejects.toThrow(/sink sink: memory .* one has 32, two has 4\. Add partitions/)
})
