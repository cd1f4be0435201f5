import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readInt64, writeInt64 } from '../../../kafka/record-batch/format.ts'
import { VarintCursor, varintSize, varlongSize, writeVarint, writeVarlong } from '../../../kafka/record-batch/varint.ts'

const MAX_SAFE = 2 ** 52

test('32-bit varints are read back as written, and their size is computed correctly', () => {
  fc.assert(
    fc.property(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), (value) => {
      const buffer = Buffer.alloc(16, 0xff)
      const end = writeVarint(buffer, 2, value)
      expect(end - 2).toBe(varintSize(value))
      const cursor = new VarintCursor()
      cursor.at = 2
      expect(cursor.readInt(buffer)).toBe(value)
      expect(cursor.at).toBe(end)
    }),
  )
})

test('64-bit varints of integers within ±2^52 are read back as written, and their size is computed correctly', () => {
  fc.assert(
    fc.property(fc.oneof(fc.integer(), fc.integer({ min: -MAX_SAFE, max: MAX_SAFE })), (value) => {
      const buffer = Buffer.alloc(16, 0xff)
      const end = writeVarlong(buffer, 0, value)
      expect(end).toBe(varlongSize(value))
      const cursor = new VarintCursor()
      expect(cursor.readLong(buffer)).toBe(value === 0 ? 0 : value)
      expect(cursor.at).toBe(end)
    }),
  )
})

test('64-bit integers within ±2^52 are written in the format that readBigInt64BE reads, and are read back as written', () => {
  fc.assert(
    fc.property(fc.integer({ min: -MAX_SAFE, max: MAX_SAFE }), (value) => {
      const buffer = Buffer.alloc(8)
      writeInt64(buffer, 0, value)
      expect(buffer.readBigInt64BE(0)).toBe(BigInt(value))
      expect(readInt64(buffer, 0)).toBe(value)
    }),
  )
})
