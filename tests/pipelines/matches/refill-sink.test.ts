import { expect, onTestFinished, test } from 'vitest'
import { memoryBroker } from '../../../kafka/memory/broker.ts'
import { memoryRegistry } from '../../../kafka/memory/registry.ts'
import { memoryTransport } from '../../../kafka/memory/transport.ts'
import { stackRefillSink } from '../../../pipelines/matches/refill-sink.ts'
import { systemRuntime } from '../../../runtime/system.ts'
import { loneSeat } from '../engine/sinks/lone-seat.ts'

test('the sink waits while the topic of the index does not exist yet', async () => {
  const transport = memoryTransport(memoryBroker())
  const config = { redisUrl: 'redis://127.0.0.1:1', redisCluster: false } as never
  const context = { config, transport, registry: memoryRegistry(), runtime: systemRuntime(), resources: undefined }
  const runner = stackRefillSink.open(context, loneSeat(transport, 'refills', 'a'))
  onTestFinished(() => runner.stop())
  let failure: unknown
  runner.done.catch((error: unknown) => {
    failure = error
  })
  void runner.start()
  await expect.poll(() => failure ?? runner.notReady()).toMatch(/match-index does not exist yet/)
})
