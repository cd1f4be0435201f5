import { murmur2 as referenceMurmur2 } from '@platformatic/kafka'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { murmur2, partitionFor } from '../../kafka/partitioner.ts'

/** Expected values from the tests of the Java client (org.apache.kafka.common.utils.UtilsTest). */
const JAVA_VALUES: readonly [string, number][] = [
  ['21', -973932308],
  ['foobar', -790332482],
  ['a-little-bit-long-string', -985981536],
  ['a-little-bit-longer-string', -1486304829],
  ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
  ['abc', 479470107],
]

test.each(JAVA_VALUES)('murmur2 of %s has the same value as in the Java client', (key, hash) => {
  expect(murmur2(Buffer.from(key))).toBe(hash)
})

test('murmur2 agrees with the protocol package for any bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
      expect(murmur2(bytes)).toBe(referenceMurmur2(Buffer.from(bytes)))
    }),
  )
})

test('a key that is a slice of a larger buffer gets the same partition', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 32 }), fc.uint8Array(), fc.uint8Array(), (key, before, after) => {
      const buffer = Buffer.concat([before, key, after])
      expect(partitionFor(buffer, 1000, before.length, before.length + key.length)).toBe(partitionFor(key, 1000))
    }),
  )
})

test('the partition is the positive hash modulo the partition count', () => {
  // 0x7fffffff & -973932308 = 1173551340
  expect(partitionFor(Buffer.from('21'), 7)).toBe(1173551340 % 7)
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 32 }), fc.integer({ min: 1, max: 1000 }), (key, partitions) => {
      const partition = partitionFor(key, partitions)
      expect(partition).toBeGreaterThanOrEqual(0)
      expect(partition).toBeLessThan(partitions)
    }),
  )
})
