import fc from 'fast-check'
import { expect, test } from 'vitest'
import { normalised } from '../../schemas/normalised.ts'

const MARKS = '\u0301\u0323'
const JOINER = '\u034f'

test.each(['NFC', 'NFKC', 'NFKD'] as const)('text with at most 30 marks in a row is normalised as usual: %s', (form) => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 100 }), (text) => {
      expect(normalised(text, form)).toBe(text.normalize(form))
    }),
  )
  const most = `e${MARKS.repeat(15)}e${MARKS.repeat(15)}`
  expect(normalised(most, form)).toBe(most.normalize(form))
})

test('a joiner follows every thirtieth mark, so that no long run of marks has to be sorted', () => {
  const text = normalised(`a${MARKS.repeat(250_000)}b`)
  expect(Math.max(...text.split(JOINER).map((part) => part.length))).toBeLessThanOrEqual(31)
  expect(text.replaceAll(JOINER, '')).toHaveLength(500_002 - 'ạ'.length)
})

test('normalising a text a second time does not change it', () => {
  const text = normalised(`a${MARKS.repeat(100)}`)
  expect(normalised(text)).toBe(text)
})
