import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Cluster } from '../../../kafka/client/cluster.ts'
import { type Context, kafkaOptions } from '../../../kafka/client/options.ts'
import { openPublisher } from '../../../kafka/client/publisher.ts'
import { TransportError } from '../../../kafka/transport.ts'
import { manualRuntime } from '../../../runtime/manual.ts'

const STEPS = 20
const STEP_MS = 100

/** Opens a publisher whose cluster has no leaders and refuses the metadata of the topic `secret`. */
function opened() {
  const runtime = manualRuntime()
  const cluster = {
    askAny: async () => ({ errorCode: 0, producerId: 1n, producerEpoch: 0 }),
    leader: () => undefined,
    async refresh(topics: readonly string[]) {
      if (topics.includes('secret')) throw new TransportError('TOPIC_AUTHORIZATION_FAILED', 'not permitted', { fatal: true })
    },
  } as unknown as Cluster
  const options = kafkaOptions.parse({ brokers: ['127.0.0.1:9092'], clientId: 'test' })
  const context: Context = { options, runtime, closing: new AbortController().signal }
  return { runtime, publisher: openPublisher(context, cluster) }
}

test('if the metadata of one topic is refused, only the records of this topic fail', async () => {
  const { runtime, publisher } = opened()
  const failed: string[] = []
  for (const topic of ['secret', 'open']) {
    const settled = (_: number, error?: TransportError) => failed.push(`${topic}: ${error?.code}`)
    publisher.appender(topic, 0).append({ settled }, 0, null, 0, 0, null, 0, 0)
  }
  for (let step = 0; step < STEPS; step++) {
    runtime.advance(STEP_MS)
    await nextTurn()
  }
  expect(failed).toEqual(['secret: TOPIC_AUTHORIZATION_FAILED'])
  expect(publisher.pendingRecords).toBe(1)
})

test('when the publisher is closed, the error for a record whose partition has no leader says that the record was not written', async () => {
  const { runtime, publisher } = opened()
  const errors: (TransportError | undefined)[] = []
  publisher.appender('open', 0).append({ settled: (_, error) => errors.push(error) }, 0, null, 0, 0, null, 0, 0)
  const closed = publisher.close(STEP_MS)
  runtime.advance(STEP_MS)
  await closed
  expect(errors).toMatchObject([
    {
      code: 'CLOSED',
      fatal: false,
      message: expect.stringMatching(/closed before the record was acknowledged; the record was not written$/),
    },
  ])
})
