import type { Case } from './case.ts'

const REMEMBERED_BATCHES = 5

/** Cases about idempotent producers without transactions. */
export const sequences: readonly Case[] = [
  {
    name: 'batches in sequence are appended, and a repeated batch is appended only once',
    async run(wire) {
      const [topic, producer] = [await wire.topic(), await wire.init(null)]
      return [
        await wire.produce(topic, producer, 0, ['a', 'b']),
        await wire.produce(topic, producer, 2, ['c']),
        await wire.produce(topic, producer, 0, ['a', 'b']),
        await wire.produce(topic, producer, 2, ['c']),
        await wire.read(topic),
      ]
    },
    answers: [0, 2, 0, 2, ['a', 'b', 'c']],
  },
  {
    name: 'a batch after a gap is refused, and so is a repeated batch that the broker no longer remembers',
    async run(wire) {
      const [topic, producer] = [await wire.topic(), await wire.init(null)]
      const answers = [await wire.produce(topic, producer, 0, ['0']), await wire.produce(topic, producer, 2, ['2'])]
      for (let sequence = 1; sequence <= REMEMBERED_BATCHES; sequence++) await wire.produce(topic, producer, sequence, [`${sequence}`])
      return [...answers, await wire.produce(topic, producer, 0, ['0']), await wire.produce(topic, producer, 1, ['1'])]
    },
    answers: [0, 'OUT_OF_ORDER_SEQUENCE_NUMBER', 'OUT_OF_ORDER_SEQUENCE_NUMBER', 1],
  },
  {
    name: 'a new epoch begins at sequence 0 and ends the previous epoch',
    async run(wire) {
      const [topic, producer] = [await wire.topic(), await wire.init(null)]
      const next = { ...producer, epoch: producer.epoch + 1 }
      return [
        await wire.produce(topic, producer, 0, ['a']),
        await wire.produce(topic, next, 1, ['b']),
        await wire.produce(topic, next, 0, ['b']),
        await wire.produce(topic, producer, 1, ['late']),
        await wire.produce(topic, producer, 0, ['a']),
        await wire.read(topic),
      ]
    },
    answers: [0, 'OUT_OF_ORDER_SEQUENCE_NUMBER', 1, 'INVALID_PRODUCER_EPOCH', 'INVALID_PRODUCER_EPOCH', ['a', 'b']],
  },
  {
    name: 'the first batch of a producer in a log may have any sequence number',
    async run(wire) {
      const [topic, producer] = [await wire.topic(), await wire.init(null)]
      return [await wire.produce(topic, producer, 7, ['a']), await wire.produce(topic, producer, 8, ['b'])]
    },
    answers: [0, 1],
  },
]
