import fc from 'fast-check'
import { expect, test } from 'vitest'
import { byteWriter, type Codec, CodecError } from '../../schemas/codec.ts'
import { compositeKey, idPart, textPart, u32Part, u64Part } from '../../schemas/composite.ts'

interface Key {
  term: string
  at: number
  region: number
  id: bigint
}

const codec = compositeKey<Key>({ term: textPart, at: u64Part, region: u32Part, id: idPart })

function bytesOf<K>(of: Codec<K>, key: K): Buffer {
  const out = byteWriter(1)
  of.encode(key, out)
  return Buffer.from(out.buffer.subarray(0, out.length))
}

const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.array(fc.constantFrom('\0', '\u0001', 'a', 'ÿ', '😀')).map((parts) => parts.join('')),
)
const keys = fc.record({
  term: text,
  at: fc.maxSafeNat(),
  region: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  id: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
})

test('a key is decoded from its bytes, even in the middle of a buffer', () => {
  fc.assert(
    fc.property(keys, (key) => {
      const bytes = Buffer.concat([Buffer.from([0, 0]), bytesOf(codec, key), Buffer.from([0, 0])])
      expect(codec.decode(bytes, 2, bytes.length - 2)).toEqual(key)
    }),
  )
})

test('encoded keys sort like their parts', () => {
  const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))
  fc.assert(
    fc.property(keys, keys, (a, b) => {
      const expected = byBytes(a.term, b.term) || a.at - b.at || a.region - b.region || Number(a.id > b.id) - Number(a.id < b.id)
      expect(Math.sign(Buffer.compare(bytesOf(codec, a), bytesOf(codec, b)))).toBe(Math.sign(expected))
    }),
  )
})

test('truncated input and trailing bytes are rejected', () => {
  fc.assert(
    fc.property(keys, fc.nat(), (key, cut) => {
      const bytes = bytesOf(codec, key)
      const longer = Buffer.concat([bytes, Buffer.from([1])])
      expect(() => codec.decode(longer, 0, longer.length)).toThrow(CodecError)
      expect(() => codec.decode(bytes, 0, cut % bytes.length)).toThrow(CodecError)
    }),
  )
})

test.each([
  ['a negative number', { term: '', at: -1, region: 0, id: 0n }],
  ['a fraction', { term: '', at: 0.5, region: 0, id: 0n }],
  ['a number above 32 bits', { term: '', at: 0, region: 2 ** 32, id: 0n }],
  ['a negative id', { term: '', at: 0, region: 0, id: -1n }],
  ['a lone surrogate', { term: '\ud800', at: 0, region: 0, id: 0n }],
])('%s is refused, and the writer stays unchanged', (_, key) => {
  const out = byteWriter()
  out.length = 3
  expect(() => codec.encode(key, out)).toThrow(CodecError)
  expect(out.length).toBe(3)
})

test('a missing part of a key is refused', () => {
  const key = { at: 0, region: 0, id: 0n } as unknown as { term: string; at: number; region: number; id: bigint }
  expect(() => codec.encode(key, byteWriter())).toThrow(new CodecError('text was expected, not undefined'))
})

test('malformed text is refused', () => {
  const only = compositeKey<{ term: string }>({ term: textPart })
  expect(() => only.decode(Buffer.from([0xc3, 0, 0]), 0, 3)).toThrow('not valid UTF-8')
})
