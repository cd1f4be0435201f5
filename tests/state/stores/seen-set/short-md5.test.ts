import { createHash, randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { MAX_SHORT_BYTES, shortMd5 } from '../../../../state/stores/seen-set/short-md5.ts'

test('for inputs of each supported length, the hash equals the first eight bytes of the MD5 that node:crypto computes', () => {
  for (let length = 0; length <= MAX_SHORT_BYTES; length++) {
    for (const bytes of [randomBytes(length), Buffer.alloc(length), Buffer.alloc(length, 0xff)]) {
      const expected = createHash('md5').update(bytes).digest()
      expect(Array.from(shortMd5(bytes)), bytes.toString('hex')).toEqual([expected.readUInt32LE(0), expected.readUInt32LE(4)])
    }
  }
})
