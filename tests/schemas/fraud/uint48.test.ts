import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readUint48, writeUint48 } from '../../../schemas/fraud/profile/uint48.ts'

const MOST = 2 ** 48 - 1

test('integers up to 2^48 - 1 are written as the same six bytes that Buffer writes, and are read back', () => {
  const anyNumber = fc.oneof(fc.integer({ min: 0, max: MOST }), fc.constantFrom(0, 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, MOST))
  fc.assert(
    fc.property(anyNumber, fc.integer({ min: 0, max: 3 }), (value, at) => {
      const bytes = Buffer.alloc(10)
      writeUint48(bytes, value, at)
      expect(bytes.readUIntBE(at, 6)).toBe(value)
      expect(readUint48(bytes, at)).toBe(value)
      const expected = Buffer.alloc(10)
      expected.writeUIntBE(value, at, 6)
      expect(bytes.equals(expected)).toBe(true)
    }),
  )
})

test.each([-1, MOST + 1, Number.NaN])('%s is refused, because it is not an unsigned integer of 48 bits', (value) => {
  expect(() => writeUint48(Buffer.alloc(6), value, 0)).toThrow(RangeError)
})
