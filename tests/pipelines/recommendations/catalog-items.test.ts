import { expect, test } from 'vitest'
import { testDriver } from '../../../pipelines/engine/testing.ts'
import { itemSignals } from '../../../pipelines/recommendations/signals/topology.ts'
import { catalogDocuments, categories } from '../../../schemas/catalog/documents/topics.ts'
import type { CatalogDocument } from '../../../schemas/catalog/types.ts'
import { items } from '../../../schemas/recommendations/topics.ts'

const START = Date.UTC(2026, 0, 10)
const COMPLETED_MS = 20_000

function saw(categoryId: number, title = 'A saw'): CatalogDocument {
  return {
    product_id: 7,
    is_public: true,
    revision: 1,
    seller_id: 1n,
    category_id: categoryId,
    title,
    description: '',
    brand: null,
    attributes: [],
    price_cents: 100,
    was_cents: null,
    created_at: START,
    thumbnail: null,
    rating_sum: 0,
    rating_count: 0,
    stars: [],
    in_stock: 'in_stock',
    sales_log: null,
    seller_rating: null,
    badges: [],
  }
}

function shop() {
  const driver = testDriver(itemSignals, { startAt: START })
  return {
    driver,
    addCategory: (id: number, name: string) =>
      driver.pipe(categories, String(id), { category_id: id, parent_id: null, name, slug: name.toLowerCase() }),
    addProduct: (document: CatalogDocument) => driver.pipe(catalogDocuments, String(document.product_id), document),
    paths: () => driver.read(items).map(({ value }) => value!.category_path),
  }
}

test('a product becomes an item with the id, texts, image, brand and path of the product, and with attributes that all variants share', () => {
  const { driver, addCategory, addProduct } = shop()
  addCategory(1, 'Tools/Saws')
  const attributes = ['colour:red', 'colour:blue', 'teeth:40: fine']
  addProduct({ ...saw(1), description: 'It saws.', brand: 'Acme', thumbnail: 'abc', attributes, created_at: START - 1 })
  expect(driver.read(items).map(({ key, value }) => [key, value])).toEqual([
    [
      7n,
      {
        title: 'A saw',
        description: 'It saws.',
        category_path: 'Tools-Saws',
        attributes: { teeth: '40: fine', brand: 'Acme' },
        popularity: 0,
        thumbnail_url: '/api/v1/images/abc/300.webp',
        status: 'ACTIVE',
        created_at: START - 1,
        updated_at: START,
      },
    ],
  ])
})

test('an item is written only when one of its fields changes', () => {
  const { driver, addCategory, addProduct } = shop()
  addCategory(1, 'Tools')
  addProduct(saw(1))
  driver.advanceWallClock(1_000)
  addProduct({ ...saw(1), revision: 2, price_cents: 200, in_stock: 'out_of_stock', rating_sum: 5, rating_count: 1, stars: [0, 0, 0, 0, 1] })
  expect(driver.read(items)).toHaveLength(1)
  addProduct({ ...saw(1), brand: 'Acme' })
  expect(driver.read(items)).toHaveLength(1)
})

test('the item of a product that is no longer public becomes inactive and keeps its texts, and a product that was never public does not become an item', () => {
  const { driver, addCategory, addProduct } = shop()
  addCategory(1, 'Tools')
  addProduct({ ...saw(1, ''), product_id: 8, is_public: false })
  expect(driver.read(items)).toEqual([])
  addProduct(saw(1))
  addProduct({ ...saw(1, ''), is_public: false })
  addProduct(saw(1))
  expect(driver.read(items).map(({ key, value }) => [key, value!.title, value!.status])).toEqual([
    [7n, 'A saw', 'ACTIVE'],
    [7n, 'A saw', 'INACTIVE'],
    [7n, 'A saw', 'ACTIVE'],
  ])
})

test('a product that arrives before its category gets the path when the category arrives', () => {
  const { driver, addCategory, addProduct, paths } = shop()
  addProduct(saw(1))
  addCategory(1, 'Tools')
  driver.advanceWallClock(COMPLETED_MS)
  expect(paths()).toEqual(['', 'Tools'])
})

test('products whose category never arrives do not prevent other products from getting their paths', () => {
  const { driver, addCategory, addProduct, paths } = shop()
  for (let id = 1_000; id < 1_600; id++) addProduct({ ...saw(99), product_id: id })
  addProduct({ ...saw(1), product_id: 2_000 })
  addCategory(1, 'Tools')
  paths()
  driver.advanceWallClock(2 * COMPLETED_MS)
  expect(paths()).toEqual(['Tools'])
})

test('a category that arrives late does not affect a product that has moved to another category', () => {
  const { driver, addCategory, addProduct, paths } = shop()
  addCategory(2, 'Garden')
  addProduct(saw(1))
  addProduct(saw(2))
  addCategory(1, 'Tools')
  driver.advanceWallClock(COMPLETED_MS)
  expect(paths()).toEqual(['', 'Garden'])
})

test('the time of an item never goes back, because readers ignore older items', () => {
  const { driver, addCategory, addProduct } = shop()
  addCategory(1, 'Tools')
  addProduct(saw(1))
  driver.pipe(catalogDocuments, '7', saw(1, 'A better saw'), { timestamp: START - 5_000 })
  expect(driver.read(items).map(({ value }) => [value!.title, value!.updated_at])).toEqual([
    ['A saw', START],
    ['A better saw', START],
  ])
})

test('a category or a product becomes a dead letter if its texts do not fit into an item', () => {
  const { driver, addCategory, addProduct, paths } = shop()
  addCategory(1, 'x'.repeat(500_000))
  addProduct({ ...saw(1), description: 'x'.repeat(600_000) })
  addProduct({ ...saw(2), product_id: 8, description: 'x'.repeat(1_040_000) })
  addProduct({ ...saw(2), product_id: 9 })
  addCategory(2, 'Garden')
  driver.advanceWallClock(COMPLETED_MS)
  expect(paths()).toEqual(['', '', 'Garden'])
  expect(driver.metrics.deadLetters).toBe(2)
})
