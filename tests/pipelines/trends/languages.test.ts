import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { commonestLanguage, LANGUAGE_CODES, languageCode, languageOf, NO_LANGUAGE } from '../../../pipelines/trends/languages.ts'

const letters = (count: number) => fc.string({ unit: fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz'), minLength: count, maxLength: count })
const samplesOf = (...tags: string[]) => tags.map((tag) => ({ lang: languageCode(tag) }))

test('each language of two or three letters has its own code of two bytes, in alphabetical order', () => {
  fc.assert(
    fc.property(fc.oneof(letters(2), letters(3)), fc.oneof(letters(2), letters(3)), (a, b) => {
      fc.pre(a !== 'und' && b !== 'und')
      expect(languageOf(languageCode(a))).toBe(a)
      expect(languageCode(a)).toBeLessThan(LANGUAGE_CODES)
      expect(Math.sign(languageCode(a) - languageCode(b))).toBe(a === b ? 0 : a < b ? -1 : 1)
    }),
  )
  expect(LANGUAGE_CODES).toBeLessThanOrEqual(2 ** 16)
})

test('a longer tag counts for its language, and other text counts for no language', () => {
  expect(['pt-BR', 'PT', 'zh_Hant', 'fil'].map((tag) => languageOf(languageCode(tag)))).toEqual(['pt', 'pt', 'zh', 'fil'])
  expect(['', 'und', 'e', 'english', '12', 'ÄÖ'].map(languageCode)).toEqual(Array(6).fill(NO_LANGUAGE))
  expect(languageOf(NO_LANGUAGE)).toBe('')
})

test('language tags are not kept in memory, not even tags of 100,000 characters', () => {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  const heapUsed = () => {
    gc()
    return process.memoryUsage().heapUsed
  }
  const tagBytes = 100_000
  const before = heapUsed()
  for (let i = 0; i < 500; i++) expect(languageOf(languageCode(Buffer.alloc(tagBytes, `pt-${i}`).toString('latin1')))).toBe('pt')
  expect(heapUsed() - before).toBeLessThan(100 * tagBytes)
})

test('the most common language wins, or the alphabetically first of equally common languages, and tweets without a language do not count', () => {
  expect(commonestLanguage(samplesOf('pt', 'en', 'pt'))).toBe('pt')
  expect(commonestLanguage(samplesOf('pt', 'en', 'en', 'pt', 'de'))).toBe('en')
  expect(commonestLanguage(samplesOf('und', 'und', 'de'))).toBe('de')
  expect(commonestLanguage(samplesOf('und'))).toBe('')
  expect(commonestLanguage([])).toBe('')
})
