import { begin, type Case } from './case.ts'

/**
 * Cases for version 2 of transactions: leaders add their partitions to the transaction, and each end of a transaction
 * raises the epoch.
 */
export const transactionsV2: readonly Case[] = [
  {
    name: 'version 2: each end raises the epoch, and sequence numbers begin again at 0',
    async run(wire) {
      const { topic, producer } = await begin(wire)
      const answers: unknown[] = [await wire.produce(topic, producer, 0, ['a'], 2), await wire.produce(topic, producer, 1, ['b'], 2)]
      const second = await wire.end(producer, 'commit', 2)
      answers.push(second.error, second.epoch - producer.epoch)
      answers.push(await wire.patiently(() => wire.produce(topic, second, 0, ['c'], 2)))
      const third = await wire.end(second, 'abort', 2)
      answers.push(third.error, third.epoch - second.epoch)
      answers.push(await wire.patiently(() => wire.produce(topic, third, 0, ['d'], 2)))
      answers.push((await wire.end(third, 'commit', 2)).error)
      answers.push(
        await wire.until(
          () => wire.offsets(topic),
          ({ stable }) => stable === 7,
        ),
      )
      return [...answers, await wire.read(topic)]
    },
    answers: [0, 1, 'NONE', 1, 3, 'NONE', 1, 5, 'NONE', { end: 7, stable: 7, aborted: [3] }, ['a', 'b', 'd']],
  },
  {
    name: 'version 2: the end of a transaction can be repeated with the former epoch, but not changed',
    async run(wire) {
      const { topic, producer } = await begin(wire)
      await wire.produce(topic, producer, 0, ['a'], 2)
      const next = await wire.end(producer, 'commit', 2)
      const again = await wire.patiently(() => wire.end(producer, 'commit', 2))
      const changed = await wire.end(producer, 'abort', 2)
      return [next.error, again.error, again.epoch - next.epoch, again.producerId === next.producerId, changed.error]
    },
    answers: ['NONE', 'NONE', 0, true, 'INVALID_TXN_STATE'],
  },
  {
    name: 'version 2: late requests of a transaction are refused while the next transaction is open',
    async run(wire) {
      const { topic, producer } = await begin(wire)
      const group = wire.name('group')
      await wire.produce(topic, producer, 0, ['a'], 2)
      const next = await wire.end(producer, 'commit', 2)
      await wire.patiently(() => wire.produce(topic, next, 0, ['b'], 2))
      const answers: unknown[] = [
        (await wire.end(producer, 'commit', 2)).error,
        (await wire.end(producer, 'abort', 2)).error,
        await wire.produce(topic, producer, 1, ['late'], 2),
        await wire.produce(topic, producer, 0, ['a'], 2),
        await wire.commitInTransaction(producer, group, topic, 5, 2),
        await wire.addPartition(producer, topic),
      ]
      await wire.end(next, 'commit', 2)
      return [
        ...answers,
        await wire.until(
          () => wire.read(topic),
          (list) => list.length > 1,
        ),
      ]
    },
    answers: [
      'PRODUCER_FENCED',
      'PRODUCER_FENCED',
      'INVALID_PRODUCER_EPOCH',
      'INVALID_PRODUCER_EPOCH',
      'INVALID_PRODUCER_EPOCH',
      'PRODUCER_FENCED',
      ['a', 'b'],
    ],
  },
  {
    name: 'version 2: a transaction without records cannot be committed, but can be aborted',
    async run(wire) {
      const { producer } = await begin(wire)
      const refused = await wire.end(producer, 'commit', 2)
      const aborted = await wire.end(producer, 'abort', 2)
      const again = await wire.patiently(() => wire.end(producer, 'abort', 2))
      const more = await wire.patiently(() => wire.end(aborted, 'abort', 2))
      return [
        refused.error,
        aborted.error,
        aborted.epoch - producer.epoch,
        again.error,
        again.epoch - aborted.epoch,
        more.epoch - again.epoch,
      ]
    },
    answers: ['INVALID_TXN_STATE', 'NONE', 1, 'NONE', 0, 1],
  },
  {
    name: 'version 2: the first batch of an epoch is refused unless its sequence number is 0',
    async run(wire) {
      const { topic, producer } = await begin(wire)
      const answers: unknown[] = [await wire.produce(topic, producer, 3, ['d'], 2), await wire.produce(topic, producer, 0, ['a'], 2)]
      const next = await wire.end(producer, 'commit', 2)
      answers.push(await wire.patiently(() => wire.produce(topic, next, 1, ['b'], 2)))
      answers.push(await wire.produce(topic, next, 0, ['b'], 2))
      return answers
    },
    answers: ['OUT_OF_ORDER_SEQUENCE_NUMBER', 0, 'OUT_OF_ORDER_SEQUENCE_NUMBER', 2],
  },
  {
    name: 'version 2: a different epoch or producer id is always refused, and an unknown transactional id only in EndTxn requests',
    async run(wire) {
      const { topic, producer } = await begin(wire)
      await wire.produce(topic, producer, 0, ['a'], 2)
      const later = { ...producer, epoch: producer.epoch + 1 }
      const other = { ...producer, producerId: producer.producerId + 1_000_000 }
      const unknown = { ...producer, id: wire.name('unknown') }
      const answers: unknown[] = []
      for (const wrong of [later, other, unknown])
        answers.push((await wire.end(wrong, 'commit', 2)).error, await wire.produce(topic, wrong, 1, ['b'], 2))
      return answers
    },
    answers: [
      'PRODUCER_FENCED',
      'INVALID_PRODUCER_EPOCH',
      'INVALID_PRODUCER_ID_MAPPING',
      'INVALID_PRODUCER_ID_MAPPING',
      'INVALID_PRODUCER_ID_MAPPING',
      // The last request succeeds: a log in which the transaction has already begun does not check the transactional
      // id.
      1,
    ],
  },
]
