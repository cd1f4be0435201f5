import fc from 'fast-check'
import { expect, test } from 'vitest'
import { TermTable, TextBytes } from '../../../pipelines/trends/term-table.ts'

/**
 * Generates texts with characters of all lengths in UTF-8, including some that sort differently in UTF-8 and UTF-16.
 */
const text = fc.string({ unit: fc.constantFrom('a', 'b', 'é', '語', '\uffee', '😀'), maxLength: 4 })

test('each term has one number, in the order in which terms were added, and keeps it while the table grows', () => {
  fc.assert(
    fc.property(fc.array(text, { maxLength: 200 }), (texts) => {
      const table = new TermTable()
      const given = new TextBytes()
      for (const each of texts) table.add(given.of(each))
      const distinct = [...new Set(texts)]
      expect(table.count).toBe(distinct.length)
      expect(distinct.map((each) => table.find(given.of(each)))).toEqual([...distinct.keys()])
      expect(distinct.map((_, term) => table.text(term))).toEqual(distinct)
      expect(table.find(given.of('absent'))).toBe(-1)
    }),
  )
})

test('terms are ordered like JavaScript strings, although the table stores them as UTF-8', () => {
  fc.assert(
    fc.property(text, text, (a, b) => {
      const table = new TermTable()
      const [first, second] = [a, b].map((each) => table.add(new TextBytes().of(each)))
      expect(Math.sign(table.compare(first, second))).toBe(a === b ? 0 : a < b ? -1 : 1)
    }),
  )
})
