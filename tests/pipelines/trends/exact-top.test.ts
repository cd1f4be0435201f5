import { expect, test } from 'vitest'
import { exactTop } from '../../../pipelines/trends/exact-top.ts'

test('terms of equal value are ranked by their UTF-8 bytes', () => {
  const terms = ['a', 'ab', 'é', '\u{fb01}', '\u{ff5e}', '\u{1f600}', '\u{1f601}']
  const inOrder = terms.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
  for (let count = 1; count <= terms.length; count++) {
    const top = exactTop(count)
    for (const term of terms.toReversed()) top.add(term, 1)
    expect(top.best().terms).toEqual(inOrder.slice(0, count))
  }
})
