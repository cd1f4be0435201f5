import { expect, test } from 'vitest'
import { LAST_EPOCH } from './cluster/transactions.ts'
import { append, producerWorld, valuesIn } from './producer-world.ts'

test('when the epochs of its producer id are used up, a producer continues with a new producer id', async () => {
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

test('a producer can be initialised while the transaction in its last epoch is being ended', async () => {
  const { cluster, run } = producerWorld(2)
  cluster.transactions.firstEpoch = LAST_EPOCH
  await run(async (producer) => {
    append(producer, 'first')
    await producer.commit(new Map(), undefined)
    // The coordinator has already assigned a new producer id, but the transaction that is being ended still has the
    // previous one.
    await producer.init()
    append(producer, 'second')
    await producer.commit(new Map(), undefined)
  })
  expect(valuesIn(cluster)).toEqual(['first', 'second'])
})
