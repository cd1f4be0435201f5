import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { endOfBatches } from '../../../kafka/record-batch/batches.ts'
import type { AbortedTransaction } from '../../../kafka/record-batch/committed.ts'
import { compress, decompress } from '../../../kafka/record-batch/compression.ts'
import { BATCH_LENGTH_AT, LEADER_EPOCH_AT, MAGIC_AT, RECORD_COUNT_AT, RECORDS_AT } from '../../../kafka/record-batch/format.ts'
import { lz4UnpackedBytes } from '../../../kafka/record-batch/lz4-size.ts'
import { unpackLz4 } from '../../../kafka/record-batch/lz4-unpack.ts'
import { ChunkReader, readChunks } from '../../../kafka/record-batch/reader.ts'
import { snappyUnpackedBytes } from '../../../kafka/record-batch/snappy-size.ts'
import { COMPRESSIONS } from '../../../kafka/transport.ts'
import { batchOf, marker, recordsOf, resigned, textRecord, valuesOf } from './batch-fixtures.ts'

function read(records: Buffer, options: { from?: number; aborted?: readonly AbortedTransaction[] | null; verifyChecksums?: boolean } = {}) {
  return readChunks({
    topic: 't',
    partition: 3,
    records,
    from: options.from ?? 0,
    aborted: options.aborted ?? [],
    verifyChecksums: options.verifyChecksums ?? true,
  })
}

function offsetAfter(response: Buffer, from: number): number {
  return endOfBatches(response, { offset: from, leaderEpoch: -1 }).offset
}

const bytes = fc.option(fc.uint8Array({ maxLength: 300 }).map((data) => Buffer.from(data)))
const record = fc.record({
  timestamp: fc.integer({ min: 0, max: 4_102_444_800_000 }),
  key: bytes,
  value: bytes,
  headers: fc.array(fc.record({ key: fc.string(), value: bytes }), { maxLength: 3 }),
})

test('arbitrary keys, values and headers, and timestamps in any order, are read back as written with every codec', () => {
  fc.assert(
    fc.property(
      fc.array(record, { minLength: 1, maxLength: 60 }),
      fc.constantFrom(...COMPRESSIONS),
      fc.integer({ min: 0, max: 2 ** 50 }),
      (records, codec, baseOffset) => {
        const chunks = read(batchOf(records, { codec, baseOffset }), { from: 0 })
        expect(recordsOf(chunks)).toEqual(records.map((expected, i) => ({ ...expected, offset: baseOffset + i })))
      },
    ),
  )
})

test('a chunk names its partition, and adjacent uncompressed batches share a chunk', () => {
  const chunks = read(Buffer.concat([batchOf([textRecord('a')]), batchOf([textRecord('b'), textRecord('c')], { baseOffset: 1 })]))
  expect(chunks).toHaveLength(1)
  expect(chunks[0]).toMatchObject({ topic: 't', partition: 3, count: 3 })
  expect(valuesOf(chunks)).toEqual(['a', 'b', 'c'])
})

test('compressed and uncompressed batches keep their order', () => {
  const response = Buffer.concat([
    batchOf([textRecord('a')]),
    batchOf([textRecord('b')], { baseOffset: 1, codec: 'lz4' }),
    batchOf([textRecord('c')], { baseOffset: 2 }),
    batchOf([textRecord('d')], { baseOffset: 3, codec: 'zstd' }),
  ])
  expect(valuesOf(read(response))).toEqual(['a', 'b', 'c', 'd'])
})

test('the reader returns no records before the requested offset, even if the batch with this offset begins earlier', () => {
  const response = batchOf([textRecord('a'), textRecord('b'), textRecord('c')], { baseOffset: 10 })
  expect(valuesOf(read(response, { from: 11 }))).toEqual(['b', 'c'])
})

test('the reader returns all complete batches of a response, wherever the response is truncated', () => {
  const whole = batchOf([textRecord('a')])
  const cut = batchOf([textRecord('b')], { baseOffset: 1 })
  for (let length = 0; length < cut.length; length++) {
    const response = Buffer.concat([whole, cut.subarray(0, length)])
    expect(valuesOf(read(response))).toEqual(['a'])
    expect(offsetAfter(response, 0)).toBe(1)
  }
})

test("the next offset comes from the batch's last offset delta, because compaction may have removed the last records", () => {
  const response = batchOf([textRecord('a'), textRecord('b')], { baseOffset: 5, removedAtEnd: 7 })
  expect(offsetAfter(response, 5)).toBe(14)
  expect(recordsOf(read(response, { from: 5 })).map(({ offset }) => offset)).toEqual([5, 6])
})

/** Returns the batch as compaction leaves it when it removes all records but has to keep the header. */
function emptied(batch: Buffer): Buffer {
  const header = Buffer.from(batch.subarray(0, RECORDS_AT))
  header.writeInt32BE(RECORDS_AT - 12, BATCH_LENGTH_AT)
  header.writeInt32BE(0, RECORD_COUNT_AT)
  return resigned(header)
}

test('a batch that compaction has emptied advances the position', () => {
  const header = emptied(batchOf([textRecord('a')], { baseOffset: 5, removedAtEnd: 3 }))
  expect(offsetAfter(header, 5)).toBe(9)
  expect(read(header, { from: 5 })).toEqual([])
})

test.each(['commit', 'abort'] as const)(
  'in the middle of an aborted transaction, the reader ignores a %s marker that compaction has emptied',
  (type) => {
    const transactional = true
    const response = Buffer.concat([
      batchOf([textRecord('1 aborted a')], { baseOffset: 0, producerId: 1, transactional }),
      emptied(marker(type, 2, 1)),
      batchOf([textRecord('1 aborted b')], { baseOffset: 2, producerId: 1, transactional }),
      marker('abort', 1, 3),
      batchOf([textRecord('1 committed')], { baseOffset: 4, producerId: 1, transactional }),
    ])
    expect(valuesOf(read(response, { aborted: [{ producerId: 1, firstOffset: 0 }] }))).toEqual(['1 committed'])
    const markerAlone = emptied(marker(type, 2, 1))
    expect(read(markerAlone, { from: 1, aborted: [{ producerId: 1, firstOffset: 0 }] })).toEqual([])
  },
)

test('with log append time, all records have the timestamp of the batch', () => {
  const response = batchOf([textRecord('a', 1_000), textRecord('b', 2_000)])
  const appendTime = 0b1000
  response.writeInt16BE(response.readInt16BE(21) | appendTime, 21)
  expect(recordsOf(read(resigned(response))).map(({ timestamp }) => timestamp)).toEqual([2_000, 2_000])
})

test('a change to any byte covered by the checksum causes an error that names the offset', () => {
  const batch = batchOf([textRecord('a'), textRecord('b')], { baseOffset: 42 })
  for (let at = 21; at < batch.length; at++) {
    const corrupted = Buffer.from(batch)
    corrupted[at] ^= 1
    expect(() => read(corrupted, { from: 42 })).toThrow(/record batch at offset 42 has checksum/)
  }
})

test('even without checksums, a record that is longer than its batch causes an error and is never misread', () => {
  const batch = batchOf([textRecord('a')])
  batch[RECORDS_AT] = 0x7e
  expect(() => read(batch, { verifyChecksums: false })).toThrow(/ends inside record 0 of 1/)
})

test('a batch in an old message format causes an error that names the format', () => {
  const batch = batchOf([textRecord('a')])
  batch[MAGIC_AT] = 1
  expect(() => read(batch)).toThrow(/has format 1; only format 2/)
})

test('bytes that cannot be decompressed cause an error that names the codec', () => {
  const batch = batchOf([textRecord('a')], { codec: 'gzip' })
  batch.fill(0xee, RECORDS_AT)
  expect(() => read(resigned(batch))).toThrow(/cannot be decompressed with gzip/)
})

test("the reader accepts snappy in the Java client's framing", () => {
  const plain = batchOf([textRecord('framed')], { codec: 'snappy' })
  const raw = plain.subarray(RECORDS_AT)
  const frame = Buffer.concat([Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0, 0, 0, 0, 1, 0, 0, 0, 1]), Buffer.alloc(4), raw])
  frame.writeInt32BE(raw.length, 16)
  const framed = Buffer.concat([plain.subarray(0, RECORDS_AT), frame])
  framed.writeInt32BE(framed.length - 12, BATCH_LENGTH_AT)
  expect(valuesOf(read(resigned(framed)))).toEqual(['framed'])
})

/**
 * Returns the batches of two interleaved producers. Producer 1 aborts twice and commits once, and producer 2 commits.
 */
function interleaved(): Buffer {
  const transactional = true
  return Buffer.concat([
    batchOf([textRecord('1 aborted a')], { baseOffset: 0, producerId: 1, transactional }),
    batchOf([textRecord('2 committed')], { baseOffset: 1, producerId: 2, transactional }),
    batchOf([textRecord('1 aborted b')], { baseOffset: 2, producerId: 1, transactional }),
    marker('abort', 1, 3),
    batchOf([textRecord('1 committed')], { baseOffset: 4, producerId: 1, transactional }),
    marker('commit', 1, 5),
    batchOf([textRecord('plain')], { baseOffset: 6, producerId: 1 }),
    marker('commit', 2, 7),
    batchOf([textRecord('1 aborted c')], { baseOffset: 8, producerId: 1, transactional }),
    marker('abort', 1, 9),
  ])
}

test('the reader skips several aborted transactions of one producer in one response', () => {
  const aborted = [
    { producerId: 1, firstOffset: 8 },
    { producerId: 1, firstOffset: 0 },
  ]
  expect(valuesOf(read(interleaved(), { aborted }))).toEqual(['2 committed', '1 committed', 'plain'])
})

test('with read_uncommitted, the reader returns all records but no control records', () => {
  expect(valuesOf(readChunks({ topic: 't', partition: 0, records: interleaved(), from: 0, aborted: null, verifyChecksums: true }))).toEqual(
    ['1 aborted a', '2 committed', '1 aborted b', '1 committed', 'plain', '1 aborted c'],
  )
})

test('the reader skips an aborted transaction even if the response begins in the middle of the transaction', () => {
  const response = interleaved().subarray(offsetPosition(interleaved(), 2))
  const aborted = [
    { producerId: 1, firstOffset: 0 },
    { producerId: 1, firstOffset: 8 },
  ]
  expect(valuesOf(read(response, { from: 2, aborted }))).toEqual(['1 committed', 'plain'])
})

test('the reader skips an aborted transaction even if the response ends before the marker of the transaction', () => {
  const response = interleaved().subarray(0, offsetPosition(interleaved(), 3))
  expect(valuesOf(read(response, { aborted: [{ producerId: 1, firstOffset: 0 }] }))).toEqual(['2 committed'])
})

test('endOfBatches returns the offset after the last complete batch, and the epoch of the leader that appended this batch', () => {
  const [old, young, cut] = [4, 6, 7].map((epoch, offset) => {
    const batch = batchOf([textRecord('a')], { baseOffset: offset })
    batch.writeInt32BE(epoch, LEADER_EPOCH_AT)
    return batch
  })
  const from = { offset: 0, leaderEpoch: 3 }
  expect(endOfBatches(Buffer.concat([old, young, cut.subarray(0, 70)]), from)).toEqual({ offset: 2, leaderEpoch: 6 })
  expect(endOfBatches(cut.subarray(0, 70), from)).toEqual(from)
})

test('control batches alone advance the position and return no records', () => {
  const response = Buffer.concat([marker('abort', 1, 0), marker('commit', 2, 1)])
  expect(read(response, { aborted: [] })).toEqual([])
  expect(offsetAfter(response, 0)).toBe(2)
})

function offsetPosition(response: Buffer, offset: number): number {
  let at = 0
  while (Number(response.readBigInt64BE(at)) < offset) at += 12 + response.readInt32BE(at + BATCH_LENGTH_AT)
  return at
}

const LONG_BYTES = 2_000
const batch = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ codec: fc.constantFrom(...COMPRESSIONS), records: fc.integer({ min: 1, max: 60 }), producer: fc.nat(2) }),
  },
  { weight: 1, arbitrary: fc.record({ ends: fc.constantFrom('commit' as const, 'abort' as const), producer: fc.nat(2) }) },
)

test('for any byte limit, reading a response in pieces gives the same records in the same order as reading it whole, and exactly the records before the position have been returned', () => {
  fc.assert(
    fc.property(
      fc.array(batch, { minLength: 1, maxLength: 12 }),
      fc.array(fc.integer({ min: 1, max: 300_000 }), { minLength: 1, maxLength: 5 }),
      fc.nat(40),
      (batches, asked, from) => {
        let offset = 0
        const began = new Map<number, number>()
        const aborted: AbortedTransaction[] = []
        const response = Buffer.concat(
          batches.map((each) => {
            const { producer: producerId } = each
            if ('ends' in each) {
              const firstOffset = began.get(producerId)
              if (each.ends === 'abort' && firstOffset !== undefined) aborted.push({ producerId, firstOffset })
              began.delete(producerId)
              return marker(each.ends, producerId, offset++)
            }
            if (!began.has(producerId)) began.set(producerId, offset)
            const baseOffset = offset
            offset += each.records
            const texts = Array.from({ length: each.records }, (_, i) => textRecord(`${baseOffset + i} `.padEnd(LONG_BYTES, '.')))
            return batchOf(texts, { baseOffset, producerId, transactional: true, codec: each.codec })
          }),
        )
        const whole = recordsOf(read(response, { from, aborted }))
        const reader = new ChunkReader({ topic: 't', partition: 3, records: response, from, aborted, verifyChecksums: true })
        const pieces: ReturnType<typeof recordsOf> = []
        for (let i = 0; !reader.done; i++) {
          const maxBytes = asked[i % asked.length]
          const next = reader.next(maxBytes)
          const records = recordsOf(next === undefined ? [] : [next.chunk])
          const bytes = records.reduce((sum, { value }) => sum + (value?.length ?? 0), 0)
          expect(bytes).toBeLessThanOrEqual(Math.max(maxBytes, 32_768) + 32_768 + 2 * LONG_BYTES)
          pieces.push(...records)
          // The reader has returned exactly the records before its position.
          expect(pieces.every((record) => record.offset < reader.nextOffset)).toBe(true)
          expect(whole.filter((record) => record.offset < reader.nextOffset)).toHaveLength(pieces.length)
        }
        expect(pieces).toEqual(whole)
        expect(reader.nextOffset).toBe(offsetAfter(response, from))
        expect(reader.next(1)).toBeUndefined()
      },
    ),
    { numRuns: 25 },
  )
})

const BOMB_BYTES = 65 * 1_048_576

test.each(['gzip', 'snappy', 'lz4', 'zstd'] as const)(
  'a %s batch that would decompress to more than 64 MiB is refused, or replaced by a stand-in if the caller requests this',
  (codec) => {
    const bomb = batchOf([{ ...textRecord('bomb', 7_000), value: Buffer.alloc(BOMB_BYTES) }, textRecord('lost')], { baseOffset: 1, codec })
    const records = Buffer.concat([batchOf([textRecord('a')]), bomb, batchOf([textRecord('b')], { baseOffset: 3, codec })])
    const fetched = { topic: 't', partition: 3, records, from: 0, aborted: [], verifyChecksums: true }
    expect(() => readChunks(fetched)).toThrow(expect.objectContaining({ code: 'BATCH_TOO_LARGE', fatal: true }))
    const [before, standIn, after, ...others] = readChunks({ ...fetched, unreadableBatches: 'stand-in' })
    expect(others).toEqual([])
    expect(valuesOf([before, after])).toEqual(['a', 'b'])
    expect(recordsOf([standIn])).toEqual([{ offset: 1, timestamp: 7_000, key: null, value: null, headers: [] }])
    expect(standIn.unreadable).toContain(`2 records in ${bomb.length - RECORDS_AT} bytes of ${codec}) unpacks to more than 67108864 bytes`)
  },
)

test('the size limit of a batch includes the memory for the positions of its records', () => {
  const record = { timestamp: 1_000, key: null, value: null, headers: [] }
  const fetched = { topic: 't', partition: 3, from: 0, aborted: [], verifyChecksums: true }
  const records = batchOf(new Array(2_000_000).fill(record), { codec: 'zstd' })
  expect(() => readChunks({ ...fetched, records })).toThrow('unpacks to more than')
})

test.each(COMPRESSIONS)('a header that declares more records than the batch can contain causes an error (%s)', (codec) => {
  const batch = batchOf([textRecord('a')], { codec })
  batch.writeInt32BE(1_000_000, RECORD_COUNT_AT)
  expect(() => read(resigned(batch))).toThrow(/declares 1000000 records in \d+ bytes/)
})

test.each(['gzip', 'snappy', 'lz4', 'zstd'] as const)(
  'a %s batch that cannot be decompressed is replaced by a stand-in only if its checksum was verified',
  (codec) => {
    const whole = batchOf([textRecord('a'.repeat(500))], { codec })
    whole.fill(0xff, RECORDS_AT)
    const fetched = { topic: 't', partition: 3, records: resigned(whole), from: 0, aborted: [], unreadableBatches: 'stand-in' as const }
    expect(readChunks({ ...fetched, verifyChecksums: true }).map(({ unreadable }) => unreadable)).toEqual([
      `a record batch cannot be decompressed with ${codec}`,
    ])
    expect(() => readChunks({ ...fetched, verifyChecksums: false })).toThrow(expect.objectContaining({ code: 'CORRUPT_BATCH' }))
  },
)

test('a decompressor accepts data of up to exactly the maximum size, and the unpacked size that lz4 and snappy data declare is read correctly', () => {
  const repetitive = fc.array(fc.tuple(fc.uint8Array({ minLength: 1, maxLength: 40 }), fc.integer({ min: 1, max: 3_000 })), {
    minLength: 1,
    maxLength: 6,
  })
  fc.assert(
    fc.property(repetitive, fc.constantFrom('gzip', 'snappy', 'lz4', 'zstd'), (parts, codec) => {
      const data = Buffer.concat(parts.flatMap(([bytes, times]) => new Array<Uint8Array>(times).fill(bytes)))
      const packed = compress(codec, data)
      expect(decompress(COMPRESSIONS.indexOf(codec), packed, data.length)).toEqual(data)
      expect(decompress(COMPRESSIONS.indexOf(codec), packed, data.length - 1)).toBeUndefined()
      if (codec === 'lz4') expect(lz4UnpackedBytes(packed)).toBe(data.length)
      if (codec === 'snappy') expect(snappyUnpackedBytes(packed)).toBe(data.length)
    }),
    { numRuns: 60 },
  )
})

test.each(['gzip', 'lz4', 'zstd'] as const)('data that was compressed as several %s frames is read as a whole', (codec) => {
  const number = COMPRESSIONS.indexOf(codec)
  const parts = [Buffer.from('first '.repeat(50)), randomBytes(200_000), Buffer.from('last')]
  const whole = Buffer.concat(parts)
  const packed = Buffer.concat(parts.map((part) => compress(codec, part)))
  expect(decompress(number, packed, whole.length)?.equals(whole)).toBe(true)
  expect(decompress(number, packed, whole.length - 1)).toBeUndefined()
  // The last frame is damaged.
  expect(() => decompress(number, packed.subarray(0, -6), whole.length)).toThrow(`cannot be decompressed with ${codec}`)
})

test('data of more than a thousand zstd frames is refused, because it would block the process for seconds', () => {
  const number = COMPRESSIONS.indexOf('zstd')
  const frames = Array.from({ length: 1_001 }, () => compress('zstd', Buffer.from('x')))
  expect(decompress(number, Buffer.concat(frames.slice(1)), 2_000)?.length).toBe(1_000)
  expect(() => decompress(number, Buffer.concat(frames), 2_000)).toThrow('cannot be decompressed with zstd')
})

test('our LZ4 decompressor reads data that the protocol package has compressed, and throws nothing but a RangeError for truncated or damaged data', () => {
  const part = fc.tuple(fc.uint8Array({ minLength: 1, maxLength: 90 }), fc.integer({ min: 1, max: 400 }))
  fc.assert(
    fc.property(fc.array(part, { maxLength: 8 }), fc.nat(), fc.nat({ max: 255 }), (parts, place, byte) => {
      const data = Buffer.concat(parts.flatMap(([bytes, times]) => new Array<Uint8Array>(times).fill(bytes)))
      const packed = compress('lz4', data)
      expect(unpackLz4(packed, data.length)).toEqual(data)
      if (data.length > 0) expect(unpackLz4(packed, data.length - 1)).toBeUndefined()
      expect(() => unpackLz4(packed.subarray(0, place % packed.length || 1), data.length)).toThrow(RangeError)
      const damaged = Buffer.from(packed)
      damaged[place % packed.length] = byte
      try {
        expect(unpackLz4(damaged, LARGE_BYTES)?.length ?? 0).toBeLessThanOrEqual(LARGE_BYTES)
      } catch (error) {
        expect(error).toBeInstanceOf(RangeError)
      }
    }),
    { numRuns: 300 },
  )
})

const LARGE_BYTES = 1_048_576

test('LZ4 batches that cannot be decompressed leak no memory, so that later LZ4 batches can still be read', () => {
  const lz4 = COMPRESSIONS.indexOf('lz4')
  const packed = compress('lz4', Buffer.concat([randomBytes(LARGE_BYTES / 8), Buffer.alloc(LARGE_BYTES)]))
  const half = packed.subarray(0, packed.length / 2)
  const before = process.memoryUsage().external
  for (let batch = 0; batch < 50; batch++) expect(() => decompress(lz4, half, 64 * LARGE_BYTES)).toThrow('cannot be decompressed with lz4')
  expect(process.memoryUsage().external - before).toBeLessThan(64 * LARGE_BYTES)
  expect(decompress(lz4, packed, 64 * LARGE_BYTES)).toHaveLength((LARGE_BYTES * 9) / 8)
})
