import { expect, test } from 'vitest'
import { byteWriter } from '../../../schemas/codec.ts'
import type { Buckets } from '../../../state/stores/buckets.ts'
import { windowedCounterValue } from '../../../state/stores/windowed-counter.ts'

const SCHEMA_ID = 7

/**
 * Bytes written by an earlier version of the code. In that version, counters had the same form in memory and in
 * storage.
 */
test.each<[hex: string, buckets: Buckets]>([
  ['0000000007d0ad8b1c060006e6010006028080808080401200', { first: 29_453_042, at: [0, 3, 118], counts: [1, 2 ** 40, 9] }],
  ['00000000070a020000020200', { first: 5, at: [0], counts: [1] }],
])('stored counters remain readable and keep their form: %s', (hex, buckets) => {
  const codec = windowedCounterValue().open(SCHEMA_ID, new Map())
  const bytes = Buffer.from(hex, 'hex')
  expect(codec.decode(bytes, 0, bytes.length)).toEqual(buckets)
  const out = byteWriter()
  codec.encode(buckets, out)
  expect(out.buffer.subarray(0, out.length).toString('hex')).toBe(hex)
})
