import { expect, test } from 'vitest'
import { readChunks } from '../../../kafka/record-batch/reader.ts'
import type { WorkerProducer } from '../../../kafka/transport.ts'
import { producerWorld } from '../producer-world.ts'
import type { PartitionLog } from './partition-log.ts'

const TOPIC = 'records'

function put(producer: WorkerProducer, key: string, text: string): void {
  const [k, value] = [Buffer.from(key), Buffer.from(text)]
  producer.appender(TOPIC, 0).append(0, k, 0, k.length, value, 0, value.length)
}

/** Returns offset, key and value of all records that are visible to a reader starting at the given offset. */
function seen(log: PartitionLog, from = 0): string[] {
  const { records, aborted } = log.read(from, log.lastStable, Number.POSITIVE_INFINITY)
  const ranges = aborted.map(({ producerId, first }) => ({ producerId, firstOffset: first }))
  const chunks = readChunks({ topic: TOPIC, partition: 0, records, from, aborted: ranges, verifyChecksums: true })
  return chunks.flatMap(({ buffer, count, offsets, keyStart, keyEnd, valueStart, valueEnd }) =>
    Array.from({ length: count }, (_, i) => {
      return `${offsets[i]} ${buffer.toString('utf8', keyStart[i], keyEnd[i])}=${buffer.toString('utf8', valueStart[i], valueEnd[i])}`
    }),
  )
}

test('a compacted log keeps the last record of each key at its offset, and retention raises the first offset of a log', async () => {
  const { cluster, run } = producerWorld(2)
  const log = cluster.log(TOPIC, 0) as PartitionLog
  await run(async (producer) => {
    for (const texts of [['a=1', 'b=1', 'a=2'], ['c=1'], ['b=2', 'c=2']]) {
      for (const text of texts) put(producer, text[0], text.slice(2))
      await producer.commit(new Map(), undefined)
    }
    put(producer, 'a', 'aborted')
    await producer.abort()
    put(producer, 'd', '1')
    await producer.commit(new Map(), undefined)
  })
  const all = seen(log)
  expect(all).toEqual(['0 a=1', '1 b=1', '2 a=2', '4 c=1', '6 b=2', '7 c=2', expect.stringMatching(/ d=1$/)])

  log.compact(log.end - 1)
  expect(seen(log)).toEqual(['2 a=2', '6 b=2', '7 c=2', all[6]])
  expect(seen(log, 7)).toEqual(['7 c=2', all[6]])

  log.deleteBelow(6)
  expect([log.start, seen(log)]).toEqual([6, ['6 b=2', '7 c=2', all[6]]])
  const { records } = log.readEver(0)
  expect(records.length).toBeGreaterThan(log.read(log.start, log.lastStable, Number.POSITIVE_INFINITY).records.length)
})
