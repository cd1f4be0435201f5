import { expect, test } from 'vitest'
import { RowBinary } from '../../../state/tables/row-binary.ts'

test('values have the bytes that ClickHouse expects, and each row ends with its topic, partition and offset', () => {
  const rows = new RowBinary({ topic: 't', partition: 258 })
  rows.values.text('é')
  rows.values.textBytes(Buffer.from('.ab.'), 1, 3)
  rows.values.length(300)
  rows.values.uint32(-2)
  rows.values.dateTime(Date.UTC(1970, 0, 1, 0, 1, 0, 999))
  rows.endRow(2 ** 40 + 1)
  const place = (low: number, fifth: number) => [1, 0x74, 2, 1, 0, 0, low, 0, 0, 0, 0, fifth, 0, 0]
  const first = [2, 0xc3, 0xa9, 2, 0x61, 0x62, 0xac, 2, 0xfe, 0xff, 0xff, 0xff, 60, 0, 0, 0, ...place(1, 1)]
  expect([...rows.bytes]).toEqual(first)
  rows.values.text('x'.repeat(200))
  rows.endRow(7)
  expect([...rows.bytes.subarray(first.length)]).toEqual([0xc8, 1, ...Buffer.from('x'.repeat(200)), ...place(7, 0)])
  expect([rows.count, rows.firstOffset, rows.lastOffset]).toEqual([2, 2 ** 40 + 1, 7])
})

test('integers of all sizes are little-endian, and negative ones are two’s complements', () => {
  const { values } = new RowBinary({ topic: 't', partition: 0 })
  values.uint8(255)
  values.uint16(258)
  values.uint64(-1)
  values.uint64(-(2 ** 32) - 1)
  values.int64(-(2n ** 63n))
  const minusOne = new Array(8).fill(0xff)
  expect([...values.bytes]).toEqual([255, 2, 1, ...minusOne, 0xff, 0xff, 0xff, 0xff, 0xfe, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0x80])
})
