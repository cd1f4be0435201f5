import fc from 'fast-check'
import { expect, test } from 'vitest'
import { byteWriter, type Codec, CodecError } from '../../schemas/codec.ts'
import { decimalId, decimalInt, utf8 } from '../../schemas/keys.ts'

function bytesOf<K>(codec: Codec<K>, key: K): Buffer {
  const out = byteWriter(1)
  codec.encode(key, out)
  return Buffer.from(out.buffer.subarray(0, out.length))
}

function decodeText<K>(codec: Codec<K>, text: string): K {
  const bytes = Buffer.from(`<${text}>`)
  return codec.decode(bytes, 1, bytes.length - 1)
}

test('signed 64-bit ids are encoded as decimal text and decoded again', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (id) => {
      expect(bytesOf(decimalId, id).toString()).toBe(String(id))
      expect(decodeText(decimalId, String(id))).toBe(id)
    }),
  )
})

test('signed 32-bit integers are encoded as decimal text and decoded again', () => {
  fc.assert(
    fc.property(fc.integer(), (value) => {
      expect(bytesOf(decimalInt, value).toString()).toBe(String(value))
      expect(decodeText(decimalInt, String(value))).toBe(value)
    }),
  )
})

test.each(['', '-', '+1', '01', '-0', '00', '1.0', '1e3', ' 1', '1 ', '٣', '0x1', '99999999999999999999999'])(
  '%j is refused, because it is not a decimal key',
  (text) => {
    expect(() => decodeText(decimalId, text)).toThrow(CodecError)
    expect(() => decodeText(decimalInt, text)).toThrow(CodecError)
  },
)

test.each(['9223372036854775808', '-9223372036854775809'])('%s is refused, because it does not fit into 64 bits', (text) => {
  expect(() => decodeText(decimalId, text)).toThrow('does not fit into 64 bits')
  expect(() => bytesOf(decimalId, BigInt(text))).toThrow('does not fit into 64 bits')
})

test('numbers that are not 32-bit integers are refused', () => {
  expect(() => decodeText(decimalInt, '2147483648')).toThrow(CodecError)
  expect(() => bytesOf(decimalInt, 2147483648)).toThrow(CodecError)
  expect(() => bytesOf(decimalInt, 0.5)).toThrow(CodecError)
})

test('30,000 short texts are decoded correctly twice, although many of them have the same length', () => {
  const encoded = Array.from({ length: 30_000 }, (_, i) => bytesOf(utf8, `key ${i}`))
  for (const [i, bytes] of encoded.entries()) expect(utf8.decode(bytes, 0, bytes.length)).toBe(`key ${i}`)
  for (const [i, bytes] of encoded.entries()) expect(utf8.decode(bytes, 0, bytes.length)).toBe(`key ${i}`)
  // The bytes of the second text are the character codes of the first text.
  expect(utf8.decode(Buffer.from('\u00c3\u00a9'), 0, 4)).toBe('\u00c3\u00a9')
  expect(utf8.decode(Buffer.from([0xc3, 0xa9]), 0, 2)).toBe('\u00e9')
})

test.each([undefined, null, 5, {}])('a key that is %s instead of text is refused', (key) => {
  expect(() => utf8.encode(key as unknown as string, byteWriter())).toThrow(new CodecError(`text was expected, not ${key}`))
})

test('text is strict UTF-8', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(decodeText(utf8, text)).toBe(text)
      expect(bytesOf(utf8, text)).toEqual(Buffer.from(text))
    }),
  )
  expect(decodeText(utf8, '\ufffd')).toBe('\ufffd')
  expect(() => utf8.decode(Buffer.from([0x61, 0xff]), 0, 2)).toThrow(CodecError)
  expect(() => bytesOf(utf8, 'a\udc00')).toThrow(CodecError)
})
