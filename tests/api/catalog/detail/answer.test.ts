import { expect, test } from 'vitest'
import { type DetailParts, detailAnswer, reviewsSummary } from '../../../../api/catalog/detail/answer.ts'
import { productDetail } from '../../../../api/catalog/detail/model.ts'
import { NOON, stored } from './stored.ts'

const OPTIONS = { publicUrl: 'http://shop.example', currency: 'USD', now: NOON }

function parts(fields: Partial<DetailParts> = {}): DetailParts {
  return {
    product: stored(),
    available: new Map(),
    details: { stars: [], badges: [] },
    seller: { name: 'Shop', rating: 4.6 },
    leaders: [],
    related: [],
    categoryPath: ['Tools', 'Saws'],
    ...fields,
  }
}

test('the answer has the documented form', () => {
  const answer = detailAnswer(
    parts({ available: new Map([[stored().variants[0].variant_id, 3]]), leaders: [9, 5, 8], related: [8, 7] }),
    OPTIONS,
  )
  expect(productDetail.strict().parse(JSON.parse(JSON.stringify(answer)))).toEqual(JSON.parse(JSON.stringify(answer)))
  expect(answer).toMatchObject({
    product_id: 5,
    category_path: ['Tools', 'Saws'],
    seller: { id: 7, name: 'Shop', rating: 4.6 },
    related_products: [8, 7, 9],
    badges: ['new'],
    variants: [
      { variant_id: 1_281, Colour: 'red', price: 19.99, was: 25, inventory: { status: 'low_stock', quantity_hint: 'only 3 left' } },
    ],
  })
})

test('a page has at most 12 related products', () => {
  const range = (from: number, count: number) => Array.from({ length: count }, (_, index) => from + index)
  expect(detailAnswer(parts({ related: range(100, 10), leaders: range(200, 10) }), OPTIONS).related_products).toEqual([
    ...range(100, 10),
    ...range(200, 2),
  ])
})

test('attributes cannot replace the fields of a variant', () => {
  const variants = stored().variants.map((one) => ({ ...one, attributes: { price: 'free', variant_id: 'x', __proto__x: 'y' } }))
  const [variant] = detailAnswer(parts({ product: stored({ variants }) }), OPTIONS).variants
  expect(variant).toMatchObject({ price: 19.99, variant_id: 1_281 })
})

test('neither inactive variants nor compare prices that do not exceed the price are shown', () => {
  const [first] = stored().variants
  const variants = [
    { ...first, compare_price: 1_999 },
    { ...first, variant_id: 1_282, status: 'INACTIVE' as const },
  ]
  expect(detailAnswer(parts({ product: stored({ variants }) }), OPTIONS).variants).toMatchObject([{ variant_id: 1_281, was: null }])
})

test('a variant shows its own images and the images without a variant, in display order', () => {
  const image = { alt_text: null, content_type: 'image/png', width: 10, height: 10 }
  const images = [
    { ...image, image_id: 1, variant_id: null, position: 2, content_hash: 'bb' },
    { ...image, image_id: 2, variant_id: 1_281, position: 1, content_hash: 'aa' },
    { ...image, image_id: 3, variant_id: 9_999, position: 0, content_hash: 'cc' },
  ]
  const answer = detailAnswer(parts({ product: stored({ images }) }), OPTIONS)
  expect(answer.variants[0].images).toEqual([
    'http://shop.example/api/v1/images/aa/600.webp',
    'http://shop.example/api/v1/images/bb/600.webp',
  ])
  expect(answer.images.map(({ image_id, urls }) => [image_id, urls[150]])).toEqual([
    [3, 'http://shop.example/api/v1/images/cc/150.webp'],
    [2, 'http://shop.example/api/v1/images/aa/150.webp'],
    [1, 'http://shop.example/api/v1/images/bb/150.webp'],
  ])
})

test('seller ids above 2^53 are strings, so that no client rounds them', () => {
  expect(detailAnswer(parts({ product: stored({ seller_id: '9223372036854775807' }) }), OPTIONS).seller.id).toBe('9223372036854775807')
})

test('the mean rating is rounded to one decimal place', () => {
  expect(reviewsSummary([])).toEqual({ avg: 0, count: 0, distribution: { 1: 0, 2: 0, 3: 0, 4: 0, 5: 0 } })
  expect(reviewsSummary([1, 0, 0, 1, 1])).toEqual({ avg: 3.3, count: 3, distribution: { 1: 1, 2: 0, 3: 0, 4: 1, 5: 1 } })
})
