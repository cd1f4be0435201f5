import { expect, test } from 'vitest'
import { sipHash128 } from '../../../../api/kit/packed/sip-hash.ts'

const KEY = Uint8Array.from({ length: 16 }, (_, index) => index)

/** Test vectors from the reference implementation (vectors_sip128): the key is 00…0f, and the input is 00, 01, 02 … */
test.each([
  [0, 'a3817f04ba25a8e66df67214c7550293'],
  [1, 'da87c1d86b99af44347659119b22fc45'],
  [2, '8177228da4a45dc7fca38bdef60affe4'],
  [7, 'a1f1ebbed8dbc153c0b84aa61ff08239'],
  [8, '3b62a9ba6258f5610f83e264f31497b4'],
  [15, '5493e99933b0a8117e08ec0f97cfc3d9'],
  [24, '2db479ae78bd50d8882a8a178a6132ad'],
  [63, '5150d1772f50834a503e069a973fbd7c'],
])('an input of %i bytes has the hash of the reference implementation', (length, expected) => {
  const padded = Buffer.from([9, 9, 9, ...Array.from({ length }, (_, index) => index), 9])
  const words = sipHash128(KEY)(padded, 3, 3 + length)
  const bytes = Buffer.alloc(16)
  for (const [index, word] of words.entries()) bytes.writeInt32LE(word, index * 4)
  expect(bytes.toString('hex')).toBe(expected)
})

test('another key gives another hash', () => {
  const input = Buffer.from('DEVICE:d1')
  const hashes = [0, 1, 2].map((first) => [...sipHash128(Uint8Array.of(first, ...KEY.subarray(1)))(input, 0, input.length)].join())
  expect(new Set(hashes).size).toBe(3)
})
