import { expect, test } from 'vitest'
import type { Cluster } from '../../../kafka/client/cluster.ts'
import { type Context, kafkaOptions } from '../../../kafka/client/options.ts'
import { ensureTopics } from '../../../kafka/client/topics.ts'
import { manualRuntime } from '../../../runtime/manual.ts'

const INVALID_REPLICATION_FACTOR = 38
const FENCED = 'Unable to replicate the partition 1 time(s): All brokers are currently fenced.'
const TOO_FEW =
  'Unable to replicate the partition 3 time(s): The target replication factor of 3 cannot be reached because only 1 broker(s) are registered.'

/**
 * Creates a fake cluster. It answers the first requests to create a topic with these error messages, one per request,
 * and then has the topic.
 */
function refusing(messages: readonly string[]) {
  const left = [...messages]
  let asked = 0
  const cluster = {
    refresh: async () => undefined,
    distrust: () => {},
    partitionCount: () => (left.length === 0 ? 0 : undefined),
    async askAny() {
      asked++
      return { topics: [{ name: 't', errorCode: INVALID_REPLICATION_FACTOR, errorMessage: left.shift() }] }
    },
  } as unknown as Cluster
  const runtime = { ...manualRuntime(), sleep: async () => undefined }
  const context = { options: kafkaOptions.parse({ brokers: ['127.0.0.1:9092'], clientId: 'test' }), runtime } as unknown as Context
  // Without partitions, no leader needs to answer.
  return { create: () => ensureTopics(context, cluster, [{ name: 't', partitions: 0 }]), asked: () => asked }
}

test('topic creation is retried while all brokers are fenced, for example just after the cluster has started', async () => {
  const { create, asked } = refusing([FENCED, FENCED])
  await create()
  expect(asked()).toBe(2)
})

test('if the cluster cannot reach the replication factor of a topic, the creation of the topic fails at once', async () => {
  const { create, asked } = refusing([TOO_FEW, TOO_FEW])
  await expect(create()).rejects.toMatchObject({ code: 'INVALID_REPLICATION_FACTOR', fatal: true })
  expect(asked()).toBe(1)
})
