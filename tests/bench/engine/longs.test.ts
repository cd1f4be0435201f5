import { expect, test } from 'vitest'
import { bareAvro } from '../../../bench/engine/bare-avro.ts'
import { longRecord, readLongs } from '../../../bench/engine/longs.ts'
import { byteWriter } from '../../../schemas/codec.ts'

test('longs are read back as they were written', () => {
  const out = byteWriter()
  bareAvro<{ a: number; b: number; c: number }>(longRecord('Three', ['a', 'b', 'c'])).encode({ a: -1, b: 0, c: 2 ** 52 + 1 }, out)
  const fields = new Float64Array(3)
  expect(readLongs(out.buffer, 0, out.length, fields)).toBe(true)
  expect([...fields]).toEqual([-1, 0, 2 ** 52 + 1])
})

test.each([
  ['too few', Buffer.from([2, 4])],
  ['too many', Buffer.from([2, 4, 6, 8])],
  ['truncated', Buffer.from([2, 4, 0x80])],
])('%s longs are rejected', (_what, bytes) => {
  expect(readLongs(bytes, 0, bytes.length, new Float64Array(3))).toBe(false)
})
