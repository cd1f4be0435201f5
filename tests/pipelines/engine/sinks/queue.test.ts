import { expect, test } from 'vitest'
import { readChunks } from '../../../../kafka/record-batch/reader.ts'
import { partitionQueue } from '../../../../pipelines/engine/sinks/queue.ts'
import { utf8 } from '../../../../schemas/keys.ts'
import { batchOf, textRecord } from '../../../kafka/record-batch/batch-fixtures.ts'

const BOMB_BYTES = 65 * 1_048_576

test('a batch that is too large when decompressed counts as one bad record, and the queue continues after it', () => {
  const bomb = [{ ...textRecord('bomb'), value: Buffer.alloc(BOMB_BYTES) }, textRecord('lost')]
  const records = Buffer.concat([batchOf(bomb, { codec: 'zstd' }), batchOf([textRecord('next')], { baseOffset: 2 })])
  const fetched = { topic: 'notes', partition: 0, records, from: 0, aborted: [], verifyChecksums: true }
  const chunks = readChunks({ ...fetched, unreadableBatches: 'stand-in' })
  const queue = partitionQueue({ key: utf8, value: utf8, isMissing: () => false })
  queue.push({ topic: 'notes', partition: 0, chunks, nextOffset: 3, highWatermark: 3, lastStableOffset: 3, fetchedAt: 0 })
  const taken = queue.take({ maxRecords: 10, maxBytes: 1_000 })
  expect(taken?.records.map(({ value }) => value)).toEqual(['next'])
  expect(taken?.bad).toMatchObject([{ row: 0, code: 'unreadable_batch', message: expect.stringContaining('offset 0 (to offset 1') }])
  expect(taken).toMatchObject({ next: 3, count: 2 })
})

test.each([0, 2, 4, 6])(
  'if the log loses its end after %i records were taken, the lost records that are still queued are dropped',
  (takenBefore) => {
    const queue = partitionQueue({ key: utf8, value: utf8, isMissing: () => false })
    const push = (values: readonly string[], baseOffset: number) => {
      const records = batchOf(values.map(textRecord), { baseOffset })
      const chunks = readChunks({ topic: 'notes', partition: 0, records, from: baseOffset, aborted: [], verifyChecksums: true })
      const nextOffset = baseOffset + values.length
      queue.push({
        topic: 'notes',
        partition: 0,
        chunks,
        nextOffset,
        highWatermark: nextOffset,
        lastStableOffset: nextOffset,
        fetchedAt: 0,
      })
    }
    push(['a', 'b', 'c'], 0)
    push(['d', 'e', 'f'], 3)
    if (takenBefore > 0) queue.take({ maxRecords: takenBefore, maxBytes: 1_000 })
    push(['D', 'E'], 4)
    const taken = queue.take({ maxRecords: 10, maxBytes: 1_000 })
    expect(taken?.records.map(({ offset, value }) => `${offset} ${value}`)).toEqual(
      ['0 a', '1 b', '2 c', '3 d', '4 D', '5 E'].slice(Math.min(4, takenBefore)),
    )
    expect([queue.records, queue.bytes, taken?.next]).toEqual([0, 0, 6])
  },
)
