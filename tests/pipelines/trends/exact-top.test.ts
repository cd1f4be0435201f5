import { expect, test } from 'vitest'
import { exactTop } from '../../../pipelines/trends/exact-top.ts'
import { TermTable, TextBytes } from '../../../pipelines/trends/term-table.ts'

test('terms of equal value are ranked as contenders are, by their UTF-16 code units', () => {
  const terms = ['a', 'ab', 'é', '\u{fb01}', '\u{ff5e}', '\u{1f600}', '\u{1f601}']
  const table = new TermTable()
  const numbers = terms.map((term) => table.add(new TextBytes().of(term)))
  const inOrder = numbers.toSorted((a, b) => table.compare(a, b)).map((number) => table.text(number))
  expect(inOrder).toEqual(terms.toSorted())
  for (let count = 1; count <= terms.length; count++) {
    const top = exactTop(count)
    for (const term of terms.toReversed()) top.add(term, 1)
    expect(top.best().terms).toEqual(inOrder.slice(0, count))
  }
})
