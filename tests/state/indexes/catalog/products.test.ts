import { expect, test } from 'vitest'
import { productMaker } from '../../../../bench/catalog/search/products.ts'
import { type ProductSource, productSourceOf } from '../../../../state/indexes/catalog/products.ts'

const make = productMaker(() => '', Date.UTC(2026, 10, 23))

function wordsFor(brand: string | null, title: string): string {
  return (productSourceOf({ ...make(1), brand, title }) as ProductSource).words
}

test.each([
  ['Acme', 'Circular saw', 'acme circular saw'],
  ['Ace', 'Surface cleaner', 'ace surface cleaner'],
  ['Black+Decker', 'BLACK & DECKER drill', 'black decker drill'],
  ['ACME', 'Saw by Acme', 'saw by acme'],
  [null, 'Saw', 'saw'],
])('a product of the brand %s with the title %s is indexed once under each of its words', (brand, title, words) => {
  expect(wordsFor(brand, title)).toBe(words)
})
