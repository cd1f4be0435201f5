import { begin, type Case } from './case.ts'

const SHORT_TIMEOUT_MS = 1_000

/** Cases about how InitProducerId and timeouts affect other producers with the same transactional id. */
export const fencing: readonly Case[] = [
  {
    name: 'InitProducerId aborts an open transaction and fences its producer',
    async run(wire) {
      const { topic, producer } = await begin(wire)
      const group = wire.name('group')
      const id = producer.id as string
      await wire.produce(topic, producer, 0, ['a'], 2)
      const answers: unknown[] = [(await wire.init(id)).error]
      const next = await wire.patiently(() => wire.init(id))
      answers.push(next.error, next.producerId === producer.producerId, next.epoch - producer.epoch, await wire.offsets(topic))
      answers.push(await wire.produce(topic, producer, 1, ['b'], 2), await wire.addPartition(producer, topic))
      answers.push(await wire.commitInTransaction(producer, group, topic, 1, 2), await wire.addGroup(producer, group))
      answers.push((await wire.end(producer, 'commit', 2)).error, (await wire.end(producer, 'commit', 1)).error)
      return [...answers, await wire.produce(topic, next, 0, ['c'], 2)]
    },
    answers: [
      'CONCURRENT_TRANSACTIONS',
      'NONE',
      true,
      2,
      { end: 2, stable: 2, aborted: [0] },
      'INVALID_PRODUCER_EPOCH',
      'PRODUCER_FENCED',
      'INVALID_PRODUCER_EPOCH',
      'PRODUCER_FENCED',
      'PRODUCER_FENCED',
      'PRODUCER_FENCED',
      2,
    ],
  },
  {
    name: 'a producer may raise its own epoch, and may retry the request',
    async run(wire) {
      const { producer } = await begin(wire)
      const id = producer.id as string
      const next = await wire.init(id, producer)
      const again = await wire.init(id, producer)
      const third = await wire.init(id, next)
      const old = await wire.init(id, producer)
      return [next.epoch - producer.epoch, again.epoch - next.epoch, third.epoch - next.epoch, old.error]
    },
    answers: [1, 0, 1, 'PRODUCER_FENCED'],
  },
  {
    name: 'a producer cannot raise its epoch after another instance has initialised its transactional id',
    async run(wire) {
      const { producer } = await begin(wire)
      const id = producer.id as string
      const other = await wire.init(id)
      const foreign = { ...producer, producerId: producer.producerId + 1_000_000 }
      return [other.epoch - producer.epoch, (await wire.init(id, producer)).error, (await wire.init(id, foreign)).error]
    },
    answers: [1, 'PRODUCER_FENCED', 'PRODUCER_FENCED'],
  },
  {
    name: 'InitProducerId with an old epoch aborts an open transaction of the producer id, but is then refused',
    async run(wire) {
      const { topic, producer } = await begin(wire)
      const id = producer.id as string
      const next = await wire.init(id)
      await wire.produce(topic, next, 0, ['a'], 2)
      const answers = [(await wire.init(id, producer)).error]
      await wire.until(
        () => wire.describe(id),
        ({ state }) => state === 'CompleteAbort',
      )
      return [...answers, (await wire.init(id, producer)).error, (await wire.end(next, 'commit', 2)).error]
    },
    answers: ['CONCURRENT_TRANSACTIONS', 'PRODUCER_FENCED', 'INVALID_TXN_STATE'],
  },
  {
    name: 'after the end of a transaction of version 2, InitProducerId with the former epoch returns the current epoch',
    async run(wire) {
      const { topic, producer } = await begin(wire)
      const id = producer.id as string
      await wire.produce(topic, producer, 0, ['a'], 2)
      const next = await wire.end(producer, 'commit', 2)
      const again = await wire.patiently(() => wire.init(id, producer))
      return [again.error, again.epoch - next.epoch]
    },
    answers: ['NONE', 0],
  },
  {
    name: 'a transaction that takes too long is aborted, and its producer is fenced',
    async run(wire) {
      const topic = await wire.topic()
      const id = wire.name('producer')
      const producer = await wire.patiently(() => wire.init(id, undefined, SHORT_TIMEOUT_MS))
      await wire.produce(topic, producer, 0, ['a'], 2)
      const { state, epoch } = await wire.until(
        () => wire.describe(id),
        (now) => now.state === 'CompleteAbort',
      )
      const answers: unknown[] = [state, epoch - producer.epoch, await wire.offsets(topic)]
      answers.push(await wire.produce(topic, producer, 1, ['b'], 2), (await wire.end(producer, 'commit', 2)).error)
      const next = await wire.init(id)
      return [...answers, next.epoch - epoch]
    },
    answers: ['CompleteAbort', 1, { end: 2, stable: 2, aborted: [0] }, 'INVALID_PRODUCER_EPOCH', 'INVALID_TXN_STATE', 1],
  },
]
