import fc from 'fast-check'
import { expect, test } from 'vitest'
import { foldTerm, MAX_TERM_CODE_POINTS, termKey, termOfKey, woeidOfKey } from '../../../schemas/trends/term.ts'

test.each([
  ['#Sandy', 'sandy'],
  ['SANDY', 'sandy'],
  ['＃ＳＡＮＤＹ', 'sandy'],
  ['##Sandy', 'sandy'],
  [' Hurricane Sandy ', 'hurricane sandy'],
  ['Straße', 'strasse'],
  ['STRASSE', 'strasse'],
  ['GROẞE', 'grosse'],
  ['ΟΔΟΣ', 'οδοσ'],
  ['οδος', 'οδοσ'],
  ['ﬁre', 'fire'],
  ['İstanbul', 'i\u0307stanbul'],
  ['ısı', 'ısı'],
  ['Cafe\u0301', 'café'],
  ['ﾊﾘｹｰﾝ', 'ハリケーン'],
  ['🔥', '🔥'],
])('%s is folded to %s', (original, term) => {
  expect(foldTerm(original)).toBe(term)
})

test.each(['', '#', '  ', '＃', 'a\0b'])('%j is refused, because it is not a term', (original) => {
  expect(foldTerm(original)).toBeUndefined()
})

test('the limit counts code points of the folded term without the #', () => {
  expect(foldTerm(`#${'🔥'.repeat(MAX_TERM_CODE_POINTS)}`)).toBe('🔥'.repeat(MAX_TERM_CODE_POINTS))
  expect(foldTerm('🔥'.repeat(MAX_TERM_CODE_POINTS + 1))).toBeUndefined()
  expect(foldTerm('x'.repeat(MAX_TERM_CODE_POINTS + 1))).toBeUndefined()
  expect(foldTerm('ß'.repeat(MAX_TERM_CODE_POINTS))).toBeUndefined()
})

test('an original spelling of 700,000 characters is refused even if its term is short, because spellings are stored', () => {
  expect(foldTerm(`${'#'.repeat(700_000)}a`)).toBeUndefined()
  expect(foldTerm(`a${' '.repeat(700_000)}`)).toBeUndefined()
  const vietnamese = 'ệ'.repeat(MAX_TERM_CODE_POINTS)
  expect(foldTerm(`#${vietnamese.normalize('NFD')}`)).toBe(vietnamese)
})

test('texts that differ only in a leading #, case (except for ı) or normalization form give the same term', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 20 }), (text) => {
      const term = foldTerm(text)
      expect(foldTerm(`#${text}`)).toBe(term)
      expect(foldTerm(text.normalize('NFD'))).toBe(term)
      if (!text.includes('ı')) expect(foldTerm(text.toUpperCase())).toBe(term)
      if (term !== undefined) expect(foldTerm(term)).toBe(term)
    }),
    { numRuns: 5000 },
  )
})

test('ASCII is folded to lower case without leading # and surrounding spaces', () => {
  const ascii = fc.string({ unit: fc.constantFrom(' ', '#', 'a', 'B', 'Z', '~', '1'), maxLength: 12 })
  fc.assert(
    fc.property(ascii, (text) => {
      const expected = text
        .toLowerCase()
        .replace(/^[#\s]+/, '')
        .trim()
      expect(foldTerm(text)).toBe(expected === '' ? undefined : expected)
    }),
    { numRuns: 2_000 },
  )
})

test('a key is split into the parts from which it was built', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1 }), fc.string(), (woeid, term) => {
      const key = termKey(woeid, term)
      expect(woeidOfKey(key)).toBe(woeid)
      expect(termOfKey(key)).toBe(term)
    }),
  )
})
