import { expect, test } from 'vitest'
import { FencedError } from '../../kafka/transport.ts'
import { handleRequest } from './cluster/requests.ts'
import { append, producerWorld, valuesIn } from './producer-world.ts'

const INIT_PRODUCER_ID = 22
const END_TXN = 26

test('with transactions of version 1, a producer whose requests for a new epoch were not answered can be initialised again', async () => {
  let isLost = false
  let ends = 0
  const { cluster, network, now, run } = producerWorld(1, (request, broker, cluster) => {
    // The answer to the first EndTxn is lost, so that the producer needs a new epoch.
    const isEnd = request.apiKey === END_TXN && ++ends === 1
    if (isEnd) isLost = true
    handleRequest(request, broker, cluster)
    // The coordinator carries out the requests for a new epoch, but for three minutes, no answer arrives.
    if (isEnd || (request.apiKey === INIT_PRODUCER_ID && isLost && now() < 180_000)) network.cut(() => true)
  })
  await run(async (producer) => {
    append(producer, 'first')
    await producer.commit(new Map(), undefined)
    append(producer, 'second')
    await expect(producer.commit(new Map(), undefined)).rejects.toThrow(FencedError)
    isLost = false
    await producer.abort()
    await producer.init()
    append(producer, 'second')
    await producer.commit(new Map(), undefined)
  })
  expect(valuesIn(cluster)).toEqual(['first', 'second'])
})
