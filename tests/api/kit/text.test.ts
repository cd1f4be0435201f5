import fc from 'fast-check'
import { expect, test } from 'vitest'
import { assertCleanText, assertCleanUrl, decodeUtf8, textFaults } from '../../../api/kit/text.ts'

const encodingError = expect.objectContaining({ definition: expect.objectContaining({ code: 'invalid_encoding' }) })

test('well-formed JSON of any shape without NUL is accepted', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'grapheme-composite' }), (value) => {
      fc.pre(!JSON.stringify(value).includes('\\u0000'))
      assertCleanText(value)
    }),
  )
})

test('NUL and lone surrogates are found at any position', () => {
  fc.assert(
    fc.property(fc.constantFrom('\0', '\ud800', 'a\udfffb'), fc.array(fc.boolean(), { maxLength: 20 }), (bad, path) => {
      const value = path.reduce<unknown>((inner, isList) => (isList ? [1, inner] : { a: null, inner }), bad)
      expect(() => assertCleanText(value)).toThrow(encodingError)
      expect(() => assertCleanText({ [bad]: 1 })).toThrow(encodingError)
    }),
  )
})

test('JSON that is nested a hundred thousand levels deep is refused without a stack overflow', () => {
  const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)
  expect(() => assertCleanText(deep)).toThrow(/nested deeper/)
})

test('JSON that is nested a hundred thousand levels deep is refused as a whole, without a list of its faults', () => {
  const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)
  expect(() => textFaults({ near: 'a\0b', deep }, 'body')).toThrow(/nested deeper/)
  expect(textFaults({ near: 'a\0b' }, 'body')).toEqual([{ path: 'body.near', message: 'must not contain NUL' }])
})

test('UTF-8 is decoded strictly, and a byte order mark is dropped', () => {
  expect(decodeUtf8(Buffer.from('\ufeff{"a":"é"}'))).toBe('{"a":"é"}')
  for (const bytes of [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xe2, 0x82]])
    expect(() => decodeUtf8(Buffer.from(bytes))).toThrow(encodingError)
})

test('percent-escapes in a URL are accepted only if they are UTF-8 without NUL', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      fc.pre(!text.includes('\0') && text.isWellFormed())
      assertCleanUrl(`http://localhost/x/${encodeURIComponent(text)}`)
    }),
  )
  for (const url of ['/%', '/%zz', '/%ff', '/%C3', '/%ED%A0%80', '/a%00b']) expect(() => assertCleanUrl(url)).toThrow(encodingError)
})
