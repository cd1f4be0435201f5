import { expect, test } from 'vitest'
import { categoryTree } from '../../../../api/catalog/categories/tree.ts'
import { keptPages, type PageRead } from '../../../../api/catalog/detail/kept-pages.ts'
import type { DetailTexts } from '../../../../api/catalog/detail/read.ts'
import { NOON, stored } from './stored.ts'

const DAY_MS = 24 * 3_600_000
const treeNamed = (name: string) => categoryTree([{ category_id: 2, parent_id: null, name, slug: 'saws' }])
const TREE = treeNamed('Saws')
const COMPANIONS = { sellerId: '7', categoryId: 2, variantIds: [5 * 256 + 1] }

function opened() {
  let now = NOON
  const pages = keptPages({ publicUrl: 'http://localhost:8080', currency: 'USD', now: () => now })
  return {
    pages,
    pass(ms: number) {
      now += ms
    },
  }
}

/** Returns the contents of the views. Every call creates new lists, but returns the same companions object. */
function texts(changed: Partial<DetailTexts> = {}): DetailTexts {
  return {
    product: JSON.stringify(stored()),
    companions: COMPANIONS,
    details: JSON.stringify({ stars: [0, 0, 0, 0, 2], badges: ['sale'] }),
    seller: JSON.stringify({ name: 'Shop', rating: 4.5 }),
    leaders: '[6]',
    related: [8],
    units: [7],
    ...changed,
  }
}

/** Returns a read that does not watch the data for later changes. */
const readAt = (startedAt: number): PageRead => ({ startedAt, unchangedAt: () => undefined })

const shown = (page: { answer: { body: unknown } }) => JSON.parse(String(page.answer.body))

test('if the contents of a page have not changed, the kept page is returned', () => {
  const { pages, pass } = opened()
  const first = pages.page(5, texts(), TREE, readAt(NOON))
  pass(DAY_MS)
  expect(pages.page(5, texts(), TREE, readAt(NOON))).toBe(first)
})

test.each<[string, Partial<DetailTexts>, object]>([
  ['the product', { product: JSON.stringify(stored({ title: 'Better saw', revision: 2 })) }, { title: 'Better saw' }],
  ['its status', { product: JSON.stringify(stored({ status: 'INACTIVE', revision: 2 })) }, { status: 'INACTIVE' }],
  [
    'a description of the same length',
    { product: JSON.stringify(stored({ description: 'Cuts iron.', revision: 2 })) },
    { description: 'Cuts iron.' },
  ],
  ['its reviews', { details: JSON.stringify({ stars: [2, 0, 0, 0, 2], badges: ['sale'] }) }, { reviews_summary: { avg: 3 } }],
  ['its badges', { details: JSON.stringify({ stars: [0, 0, 0, 0, 2], badges: [] }) }, { badges: ['new'] }],
  ['no details', { details: null }, { reviews_summary: { count: 0 } }],
  ['the seller', { seller: JSON.stringify({ name: 'Store', rating: 4.5 }) }, { seller: { name: 'Store' } }],
  ['no seller', { seller: null }, { seller: { name: 'seller-7' } }],
  ['the best sellers', { leaders: '[9]' }, { related_products: [8, 9] }],
  ['related products', { related: [8, 9] }, { related_products: [8, 9, 6] }],
  ['the stock', { units: [0] }, { variants: [{ inventory: { status: 'out_of_stock' } }] }],
])('a change is shown at once: %s', (_what, changed, expected) => {
  const { pages } = opened()
  pages.page(5, texts(), TREE, readAt(NOON))
  const after = pages.page(5, texts(changed), TREE, readAt(NOON))
  expect(shown(after)).toMatchObject(expected)
  expect(pages.page(5, texts(changed), TREE, readAt(NOON))).toBe(after)
  expect(shown(pages.page(5, texts(), TREE, readAt(NOON)))).toMatchObject({
    title: 'Saw',
    related_products: [8, 6],
    seller: { name: 'Shop' },
  })
})

test('a page shows at once that a category was renamed, and that a product is no longer new', () => {
  const { pages, pass } = opened()
  expect(shown(pages.page(5, texts(), TREE, readAt(NOON)))).toMatchObject({ category_path: ['Saws'], badges: ['new', 'sale'] })
  expect(shown(pages.page(5, texts(), treeNamed('Hand saws'), readAt(NOON)))).toMatchObject({ category_path: ['Hand saws'] })
  pass(30 * DAY_MS)
  expect(shown(pages.page(5, texts(), TREE, readAt(NOON))).badges).toEqual(['sale'])
})

test('a product text is known only if the kept page of that product was made from this text and from the same companions object', () => {
  const { pages } = opened()
  const { product } = texts()
  expect(pages.isKnown(5)(product, COMPANIONS)).toBe(false)
  pages.page(5, texts(), TREE, readAt(NOON))
  expect(pages.isKnown(5)(product, COMPANIONS)).toBe(true)
  expect(pages.isKnown(6)(product, COMPANIONS)).toBe(false)
  expect(pages.isKnown(5)(`${product} `, COMPANIONS)).toBe(false)
  expect(pages.isKnown(5)(product, { ...COMPANIONS })).toBe(false)
})

test('if the categories have not changed, a page is recent until a second after the read of its texts began', () => {
  const { pages, pass } = opened()
  expect(pages.recent(5, TREE)).toBeUndefined()
  const first = pages.page(5, texts(), TREE, readAt(NOON))
  pass(999)
  expect(pages.recent(5, TREE)).toBe(first)
  expect(pages.recent(5, treeNamed('Hand saws'))).toBeUndefined()
  pass(1)
  expect(pages.recent(5, TREE)).toBeUndefined()
  pages.page(5, texts(), TREE, readAt(NOON + 500))
  expect(pages.recent(5, TREE)).toBe(first)
  // This read began before the read of the kept page, but ended after it. Its texts are older, so they change nothing.
  pages.page(5, texts(), TREE, readAt(NOON))
  pass(499)
  expect(pages.recent(5, TREE)).toBe(first)
  pass(1)
  expect(pages.recent(5, TREE)).toBeUndefined()
})

test('a page stays recent until a second after the last time at which the views reported no change', () => {
  const { pages, pass } = opened()
  let unchangedAt: number | undefined = NOON
  const first = pages.page(5, texts(), TREE, { startedAt: NOON, unchangedAt: () => unchangedAt })
  pass(10_000)
  expect(pages.recent(5, TREE)).toBeUndefined()
  unchangedAt = NOON + 9_500
  expect(pages.recent(5, TREE)).toBe(first)
  unchangedAt = undefined
  pass(499)
  expect(pages.recent(5, TREE)).toBe(first)
  pass(1)
  expect(pages.recent(5, TREE)).toBeUndefined()
})

test('whether a page is recent depends on its newest read, even if an earlier read reports no change', () => {
  const { pages, pass } = opened()
  const first = pages.page(5, texts(), TREE, { startedAt: NOON, unchangedAt: () => NOON + 5_000 })
  expect(pages.page(5, texts(), TREE, readAt(NOON + 1))).toBe(first)
  pass(5_000)
  expect(pages.recent(5, TREE)).toBeUndefined()
})

test('while the views report no change, a page stays recent for a minute after its read, and is rendered again when its product is no longer new', () => {
  const { pages, pass } = opened()
  let now = NOON
  const read = (startedAt: number) => ({ startedAt, unchangedAt: () => now })
  const first = pages.page(5, texts(), TREE, read(NOON))
  const after = (ms: number) => {
    pass(ms)
    now += ms
    return pages.recent(5, TREE)
  }
  expect(after(60_000)).toBe(first)
  expect(after(1_000)).toBeUndefined()
  expect(pages.page(5, texts(), TREE, read(now))).toBe(first)
  expect(after(30_000)).toBe(first)
  pass(30 * DAY_MS)
  now += 30 * DAY_MS
  expect(pages.page(5, texts(), TREE, read(NOON + 30 * DAY_MS - 30_000))).not.toBe(first)
})

test('after the clock was set back, a page is not recent until its data has been read again', () => {
  const { pages, pass } = opened()
  const page = pages.page(5, texts(), TREE, readAt(NOON))
  pass(-DAY_MS)
  expect(pages.recent(5, TREE)).toBeUndefined()
  pages.page(5, texts(), TREE, readAt(NOON - DAY_MS))
  expect(pages.recent(5, TREE)).toBe(page)
})
