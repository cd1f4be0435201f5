import { expect, test } from 'vitest'
import { Reader } from '../../kafka/client/protocol.ts'
import type { TransportError } from '../../kafka/transport.ts'
import { handleRequest } from './cluster/requests.ts'
import { append, type ProducerWorld, producerWorld, TOPIC, valuesIn } from './producer-world.ts'

const PRODUCE = 0
const TEXT = 'whole'

/** Opens a world in which the first batch is damaged on its way to the broker, so that its checksum is wrong. */
function damagingWorld(): ProducerWorld {
  let isDamaged = false
  return producerWorld(2, (request, broker, cluster) => {
    if (isDamaged || request.apiKey !== PRODUCE) return handleRequest(request, broker, cluster)
    isDamaged = true
    const bytes = Buffer.from(request.body.buffer.slice(0))
    bytes[bytes.indexOf(TEXT)] ^= 1
    const body = Reader.from(bytes)
    handleRequest({ ...request, body }, broker, cluster)
  })
}

test('a batch that is damaged on its way to the broker is sent again by a producer', async () => {
  const { cluster, run } = damagingWorld()
  await run(async (producer) => {
    append(producer, TEXT)
    await producer.commit(new Map(), undefined)
  })
  expect(valuesIn(cluster)).toEqual([TEXT])
})

test('a batch that is damaged on its way to the broker is sent again by a publisher', async () => {
  const { cluster, run } = damagingWorld()
  await run(async (_, transport) => {
    const value = Buffer.from(TEXT)
    const { promise, resolve } = Promise.withResolvers<TransportError | undefined>()
    const settled = (_count: number, error: TransportError | undefined) => resolve(error)
    transport.publisher().appender(TOPIC, 0).append({ settled }, 0, null, 0, 0, value, 0, value.length)
    expect(await promise).toBeUndefined()
  })
  expect(valuesIn(cluster)).toEqual([TEXT])
})
