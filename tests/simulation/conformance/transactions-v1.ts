import { begin, type Case } from './case.ts'

/**
 * Cases for version 1 of transactions: the producer adds its partitions to the transaction, and all its transactions
 * have the same epoch.
 */
export const transactionsV1: readonly Case[] = [
  {
    name: 'version 1: records of a transaction are visible after the commit, and records of an aborted transaction are never visible',
    async run(wire) {
      const { topic, producer } = await begin(wire)
      const answers: unknown[] = [await wire.addPartition(producer, topic), await wire.produce(topic, producer, 0, ['a'])]
      answers.push(await wire.read(topic), await wire.offsets(topic), await wire.read(topic, 'read_uncommitted'))
      answers.push((await wire.end(producer, 'commit', 1)).error)
      answers.push(await wire.until(() => wire.read(topic), isLong(1)))
      answers.push(await wire.patiently(() => wire.addPartition(producer, topic)), await wire.produce(topic, producer, 1, ['b']))
      answers.push((await wire.end(producer, 'abort', 1)).error)
      answers.push(
        await wire.until(
          () => wire.offsets(topic),
          ({ stable }) => stable === 4,
        ),
      )
      answers.push(await wire.read(topic))
      return answers
    },
    answers: [
      'NONE',
      0,
      [],
      { end: 1, stable: 0, aborted: [] },
      ['a'],
      'NONE',
      ['a'],
      'NONE',
      2,
      'NONE',
      { end: 4, stable: 4, aborted: [2] },
      ['a'],
    ],
  },
  {
    name: 'version 1: records are refused if the producer has not added their partition',
    async run(wire) {
      const { topic, producer } = await begin(wire)
      const other = await wire.topic()
      const answers: unknown[] = [await wire.produce(topic, producer, 0, ['a'])]
      answers.push(await wire.addPartition(producer, other), await wire.produce(topic, producer, 0, ['a']))
      return [...answers, (await wire.end(producer, 'abort', 1)).error]
    },
    answers: ['TRANSACTION_ABORTABLE', 'NONE', 'TRANSACTION_ABORTABLE', 'NONE'],
  },
  {
    name: 'version 1: the end of a transaction can be repeated but not changed, and requires an open transaction',
    async run(wire) {
      const { topic, producer } = await begin(wire)
      const end = async (outcome: 'commit' | 'abort') => (await wire.patiently(() => wire.end(producer, outcome, 1))).error
      const answers = [await end('commit'), await end('abort')]
      await wire.addPartition(producer, topic)
      answers.push(await end('commit'))
      // The coordinator accepts a retry of the same EndTxn only after it has ended the transaction.
      answers.push(await end('commit'), await end('abort'))
      await wire.addPartition(producer, topic)
      return [...answers, await end('abort'), await end('abort'), await end('commit')]
    },
    answers: ['INVALID_TXN_STATE', 'INVALID_TXN_STATE', 'NONE', 'NONE', 'INVALID_TXN_STATE', 'NONE', 'NONE', 'INVALID_TXN_STATE'],
  },
  {
    name: 'version 1: sequence numbers continue in the next transaction, but if a batch of the previous transaction is repeated first, the next batch is refused',
    async run(wire) {
      const { topic, producer } = await begin(wire)
      const answers: unknown[] = []
      const commit = async (sequence: number) => {
        await wire.patiently(() => wire.addPartition(producer, topic))
        answers.push(await wire.produce(topic, producer, sequence, [`${sequence}`]))
        await wire.end(producer, 'commit', 1)
      }
      await commit(0)
      await commit(1)
      await wire.patiently(() => wire.addPartition(producer, topic))
      answers.push(await wire.produce(topic, producer, 1, ['1']), await wire.produce(topic, producer, 2, ['2']))
      return answers
    },
    answers: [0, 2, 2, 'OUT_OF_ORDER_SEQUENCE_NUMBER'],
  },
  {
    name: 'version 1: requests with a different epoch, producer id or transactional id are refused',
    async run(wire) {
      const { topic, producer } = await begin(wire)
      const later = { ...producer, epoch: producer.epoch + 1 }
      const other = { ...producer, producerId: producer.producerId + 1_000_000 }
      const unknown = { ...producer, id: wire.name('unknown') }
      await wire.addPartition(producer, topic)
      const answers: unknown[] = []
      for (const wrong of [later, other, unknown]) {
        answers.push(await wire.addPartition(wrong, topic), (await wire.end(wrong, 'commit', 1)).error)
        answers.push(await wire.produce(topic, wrong, 0, ['a']))
      }
      return answers
    },
    answers: [
      'PRODUCER_FENCED',
      'PRODUCER_FENCED',
      'INVALID_PRODUCER_EPOCH',
      'INVALID_PRODUCER_ID_MAPPING',
      'INVALID_PRODUCER_ID_MAPPING',
      'INVALID_PRODUCER_ID_MAPPING',
      'INVALID_PRODUCER_ID_MAPPING',
      'INVALID_PRODUCER_ID_MAPPING',
      'INVALID_PRODUCER_ID_MAPPING',
    ],
  },
]

function isLong(length: number): (list: readonly unknown[]) => boolean {
  return (list) => list.length >= length
}
