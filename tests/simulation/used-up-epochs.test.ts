import { expect, test } from 'vitest'
import { LAST_EPOCH } from './cluster/transactions.ts'
import { append, producerWorld, valuesIn } from './producer-world.ts'

test('a producer continues with the producer id that it gets when its epochs are used up', async () => {
  const { cluster, run } = producerWorld(2)
  cluster.transactions.firstEpoch = LAST_EPOCH - 1
  const texts = ['a', 'b', 'c', 'd']
  await run(async (producer) => {
    for (const text of texts) {
      append(producer, text)
      await producer.commit(new Map(), undefined)
    }
  })
  expect(valuesIn(cluster)).toEqual(texts)
  expect(cluster.transactions.find('single')?.epoch).toBe(2)
})

test('a producer does not take itself for another process while its last epoch is being ended', async () => {
  const { cluster, run } = producerWorld(2)
  cluster.transactions.firstEpoch = LAST_EPOCH
  await run(async (producer) => {
    append(producer, 'first')
    await producer.commit(new Map(), undefined)
    // The coordinator has already assigned another producer id, but still describes the transaction with the previous
    // id.
    await producer.init()
    append(producer, 'second')
    await producer.commit(new Map(), undefined)
  })
  expect(valuesIn(cluster)).toEqual(['first', 'second'])
})
