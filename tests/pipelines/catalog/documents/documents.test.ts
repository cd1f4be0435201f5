import { expect, test } from 'vitest'
import { catalogTopology } from '../../../../pipelines/catalog/documents/topology.ts'
import { type CommitFaultPoint, DriverCrash } from '../../../../pipelines/engine/testing.ts'
import { salesAt } from '../../../../schemas/catalog/documents/sales.ts'
import { catalogImages, reviews } from '../../../../schemas/catalog/documents/topics.ts'
import { productUpdated } from '../../../../schemas/catalog/products/topics.ts'
import { DAY, documentsDriver, MINUTE, movement, NOON, owned, product, review, SECOND, sale, seller, variant } from './driver.ts'

test('the topology has three stages, which are keyed by seller, by product and by category', () => {
  expect(catalogTopology.describe().text).toMatchInlineSnapshot(`
    "topology catalog
      sub-topology 0: 1 partitions
        source sellers
          process rate-seller (stores sellers, seller-products, spreading)
          tick spread-ratings (every 1000 ms of wall time; stores sellers, seller-products, spreading) → catalog-by-product-repartition
        source seller-products
          process own-product (stores sellers, seller-products, spreading) → catalog-by-product-repartition
        store sellers (changelog catalog-sellers-changelog)
        store seller-products (changelog catalog-seller-products-changelog)
        store spreading (changelog catalog-spreading-changelog)
      sub-topology 1: 1 partitions
        source product.created
          process create-product (stores documents, counters, stock, stars, sales, images) → catalog-images
        source product.updated
          process update-product (stores documents, counters, stock, stars, sales, images) → catalog-images
        source price.changed
          process change-price (stores documents, counters, stock, stars, sales, images) → catalog-images
        source inventory.changed
          process move-stock (stores documents, counters, stock, stars, sales, images)
        source reviews
          process count-stars (stores documents, counters, stock, stars, sales, images, review-times)
        source catalog-by-product-repartition
          process take-note (stores documents, counters, stock, stars, sales, images)
          tick write-sales (every 1000 ms of wall time; stores documents, counters, stock, stars, sales, images)
          before-commit show-documents (stores documents, counters, stock, stars, sales, images) → catalog-documents, catalog-by-category-repartition
        store documents (changelog catalog-documents-changelog)
        store counters (changelog catalog-counters-changelog)
        store stock (changelog catalog-stock-changelog)
        store stars (changelog catalog-stars-changelog)
        store sales (changelog catalog-sales-changelog)
        store images (changelog catalog-images-changelog)
        store review-times (changelog catalog-review-times-changelog)
      sub-topology 2: 1 partitions
        source catalog-by-category-repartition
          process place-product (stores places, ranks, leaders)
          before-commit show-leaders (stores places, ranks, leaders) → category-leaders, catalog-by-product-repartition
        store places (changelog catalog-places-changelog)
        store ranks (changelog catalog-ranks-changelog)
        store leaders (changelog catalog-leaders-changelog)
    "
  `)
})

test('the document of a new product has the price of the cheapest active variant, and is out of stock', () => {
  const { send, written } = documentsDriver()
  const variants = [
    variant(5, 1, { price_cents: 900, status: 'INACTIVE', attributes: { size: 'S' } }),
    variant(5, 2, { price_cents: 1_500, compare_price: 2_000, attributes: { Colour: 'Blue', Size: 'M' } }),
    variant(5, 3, { price_cents: 1_800, attributes: { colour: 'Blue' } }),
  ]
  const image = { variant_id: null, alt_text: null, content_type: 'image/png', width: 1, height: 1 }
  const images = [
    { ...image, image_id: 1, position: 2, content_hash: 'second' },
    { ...image, image_id: 2, position: 1, content_hash: 'first' },
  ]
  send({ topic: 'created', product: product(5, { variants, images }) })
  expect(written()).toEqual([
    {
      product_id: 5,
      is_public: true,
      revision: 1,
      seller_id: 7n,
      category_id: 1,
      title: 'Product 5',
      description: 'Made of wood.',
      brand: 'Acme',
      attributes: ['colour:Blue', 'size:M'],
      price_cents: 1_500,
      was_cents: 2_000,
      created_at: NOON,
      thumbnail: 'first',
      rating_sum: 0,
      rating_count: 0,
      stars: [],
      in_stock: 'out_of_stock',
      sales_log: null,
      seller_rating: null,
      badges: ['sale'],
    },
  ])
})

test('of two variants with the lowest price, the one with the lower id determines the compare price', () => {
  const { send, written } = documentsDriver()
  const variants = [variant(5, 2, { price_cents: 900, compare_price: 950 }), variant(5, 1, { price_cents: 900 })]
  send({ topic: 'created', product: product(5, { variants }) })
  expect(written()).toMatchObject([{ price_cents: 900, was_cents: null }])
})

test('a compare price that is not higher than the price is not shown', () => {
  const { send, written } = documentsDriver()
  send({ topic: 'created', product: product(5, { variants: [variant(5, 1, { compare_price: 1_000 })] }) })
  expect(written()).toMatchObject([{ was_cents: null, badges: [] }])
})

test('the newest revision wins, no matter in which order the topics deliver the revisions', () => {
  const { driver, send, written } = documentsDriver()
  send({ topic: 'price', product: product(5, { revision: 3, title: 'Third' }) })
  send({ topic: 'created', product: product(5, { revision: 1, title: 'First' }) })
  send({ topic: 'updated', product: product(5, { revision: 2, title: 'Second' }) })
  expect(written()).toMatchObject([{ revision: 3, title: 'Third' }])
  expect(driver.metrics.dropped.get('old_revision')).toBe(2)
})

test('a change without a visible effect writes nothing', () => {
  const { send, written } = documentsDriver()
  send({ topic: 'created', product: product(5) })
  written()
  send({ topic: 'updated', product: product(5, { revision: 2, version: 2, variants: [variant(5, 1, { weight_grams: 7, sku: 'other' })] }) })
  expect(written()).toEqual([])
  send({ topic: 'updated', product: product(5, { revision: 3, brand: null }) })
  expect(written()).toMatchObject([{ revision: 3, brand: null }])
})

test('a product that is no longer public keeps a record without text, and a product that was never public has no record', () => {
  const { send, written } = documentsDriver()
  send({ topic: 'created', product: product(5, { status: 'DRAFT' }) })
  expect(written()).toEqual([])
  send({ topic: 'updated', product: product(5, { revision: 2 }) })
  send(movement(5, { available: 9, version: 1 }))
  send(review(5, 1, 5))
  expect(written()).toHaveLength(3)
  for (const [revision, status] of [
    [3, 'INACTIVE'],
    [4, 'DELETED'],
  ] as const) {
    send({ topic: 'updated', product: product(5, { revision, status }) })
    const documents = written()
    if (status === 'DELETED') expect(documents).toEqual([])
    else
      expect(documents).toMatchObject([
        { is_public: false, title: '', description: '', attributes: [], stars: [], in_stock: 'out_of_stock' },
      ])
  }
})

test('a product without active variants is not public', () => {
  const { send, written } = documentsDriver()
  send({ topic: 'created', product: product(5) })
  written()
  send({ topic: 'updated', product: product(5, { revision: 2, variants: [variant(5, 1, { status: 'INACTIVE' })] }) })
  expect(written()).toMatchObject([{ is_public: false, price_cents: 0 }])
})

test('a product that becomes public again still has its stars, stock and sales', () => {
  const { driver, send, written } = documentsDriver()
  send({ topic: 'created', product: product(5) })
  send(review(5, 1, 4))
  send({ topic: 'updated', product: product(5, { revision: 2, status: 'INACTIVE' }) })
  send(sale(5, 1, 3))
  send(review(5, 2, 2))
  written()
  driver.advanceWallClock(2 * MINUTE)
  expect(written()).toEqual([])
  send({ topic: 'updated', product: product(5, { revision: 3 }) })
  const [document] = written()
  expect(document).toMatchObject({ is_public: true, stars: [0, 1, 0, 1, 0], rating_sum: 6, rating_count: 2, in_stock: 'in_stock' })
  expect(salesAt(document.sales_log, NOON)).toBeCloseTo(3)
})

test('stock is summed over all warehouses and all active variants, and a document is written only when the stock status changes', () => {
  const { driver, send, written } = documentsDriver()
  const second = 5 * 256 + 2
  send({ topic: 'created', product: product(5, { variants: [variant(5, 1), variant(5, 2, { status: 'INACTIVE' })] }) })
  written()
  send(movement(5, { version: 1, available: 3 }))
  expect(written()).toMatchObject([{ in_stock: 'low_stock', badges: ['low_stock'] }])
  send(movement(5, { version: 1, warehouse_id: 'w2', available: 2 }))
  send(movement(5, { version: 1, variant_id: second, available: 50 }))
  expect(written()).toEqual([])
  send(movement(5, { version: 2, warehouse_id: 'w2', available: 3 }))
  expect(written()).toMatchObject([{ in_stock: 'in_stock', badges: [] }])
  send(movement(5, { version: 1, warehouse_id: 'w2', available: 0 }))
  expect(driver.metrics.dropped.get('old_version')).toBe(1)
  expect(written()).toEqual([])
  send(movement(5, { version: 2, available: 0 }))
  send(movement(5, { version: 3, warehouse_id: 'w2', available: 0 }))
  expect(written()).toMatchObject([{ in_stock: 'low_stock' }, { in_stock: 'out_of_stock' }])
  send({ topic: 'updated', product: product(5, { revision: 2, variants: [variant(5, 1), variant(5, 2)] }) })
  expect(written()).toMatchObject([{ in_stock: 'in_stock' }])
})

test('stock and stars that arrive before their product are shown as soon as the product arrives', () => {
  const { send, written } = documentsDriver()
  send(movement(5, { version: 4, available: 2 }))
  send(review(5, 1, 5))
  expect(written()).toEqual([])
  send({ topic: 'created', product: product(5) })
  expect(written()).toMatchObject([{ in_stock: 'low_stock', rating_sum: 5, rating_count: 1 }])
})

test('a newer review by a user replaces the earlier one', () => {
  const { driver, send, written } = documentsDriver()
  send({ topic: 'created', product: product(5) })
  send(review(5, 1, 2))
  send(review(5, 2, 5))
  send(review(5, 1, 4))
  send(review(5, 1, 4))
  expect(written().at(-1)).toMatchObject({ stars: [0, 0, 0, 1, 1], rating_sum: 9, rating_count: 2 })
  expect(driver.metrics.dropped.get('same_stars')).toBe(1)
})

test('a review that arrives again after a newer one by the same user changes nothing', () => {
  const { driver, send, written } = documentsDriver()
  send({ topic: 'created', product: product(5) })
  const give = (stars: number, at: number) => send({ topic: 'review', review: { product_id: 5, user_id: 1n, stars, at } })
  give(2, NOON)
  give(4, NOON + 1)
  give(2, NOON)
  expect(written().at(-1)).toMatchObject({ stars: [0, 0, 0, 1, 0], rating_count: 1 })
  expect(driver.metrics.dropped.get('older_review')).toBe(1)
})

test('twenty reviews with a mean of 4.5 make a product top rated', () => {
  const { send, written } = documentsDriver()
  send({ topic: 'created', product: product(5) })
  for (let user = 1; user < 20; user++) send(review(5, user, user <= 10 ? 5 : 4))
  expect(written().at(-1)?.badges).toEqual([])
  send(review(5, 20, 4))
  expect(written()).toMatchObject([{ badges: ['top_rated'] }])
  send(review(5, 20, 3))
  expect(written()).toMatchObject([{ badges: [] }])
})

test('changes in sales alone are written at most once a minute, and the last change is always written', () => {
  const { driver, send, written } = documentsDriver()
  send(movement(5, { version: 1, available: 100 }))
  send({ topic: 'created', product: product(5) })
  written()
  driver.advanceWallClock(10 * SECOND)
  for (let version = 2; version < 12; version++) send(sale(5, version, 2))
  expect(written()).toEqual([])
  driver.advanceWallClock(49 * SECOND)
  expect(written()).toEqual([])
  driver.advanceWallClock(2 * SECOND)
  // The topology writes the second document because the product becomes a best seller.
  const documents = written()
  expect(documents.map(({ badges }) => badges)).toEqual([[], ['bestseller']])
  for (const { sales_log } of documents) expect(salesAt(sales_log, NOON)).toBeCloseTo(20)
  driver.advanceWallClock(5 * MINUTE)
  expect(written()).toEqual([])
  send(sale(5, 12, 1))
  expect(written()).toHaveLength(1)
})

test('pending sales survive a crash, and are written with the next change', () => {
  const { driver, send, written } = documentsDriver()
  send({ topic: 'created', product: product(5) })
  send(movement(5, { version: 1, available: 100 }))
  written()
  send(sale(5, 2, 4))
  driver.restart({ wipeState: true })
  send(review(5, 1, 3))
  const documents = written()
  expect(documents).toMatchObject([{ rating_count: 1, badges: [] }, { badges: ['bestseller'] }])
  expect(salesAt(documents[0].sales_log, NOON)).toBeCloseTo(4)
  driver.advanceWallClock(2 * MINUTE)
  expect(written()).toEqual([])
})

test("once a seller's ranking factor has changed by 0.05, the new rating is sent to the seller's products, including new ones", () => {
  const { driver, send, written } = documentsDriver()
  send({ topic: 'created', product: product(5) })
  send(owned(5))
  send(seller(4, 2))
  driver.advanceWallClock(SECOND)
  expect(written()).toHaveLength(1)
  send(seller(5, 10))
  driver.advanceWallClock(SECOND)
  expect(written()).toMatchObject([{ product_id: 5, seller_rating: 4.25 }])
  send(seller(5, 11))
  driver.advanceWallClock(SECOND)
  expect(written()).toEqual([])
  send({ topic: 'created', product: product(6) })
  send(owned(6))
  expect(written().at(-1)).toMatchObject({ product_id: 6, seller_rating: 4.25 })
  send(owned(5, 7n, null))
  send(owned(8, 7n, 'DELETED'))
  send(seller(null, 0))
  driver.advanceWallClock(SECOND)
  expect(written()).toMatchObject([{ product_id: 6, seller_rating: null }])
})

test("a new rating of a seller with 2,500 products is sent in batches of at most 1,000, and each of the seller's products gets it once", () => {
  const { driver, send, written, newest } = documentsDriver({ commit: 'manual' })
  const ids = Array.from({ length: 2_500 }, (_, index) => index + 1)
  for (const id of ids) {
    send({ topic: 'created', product: product(id) })
    send(owned(id))
  }
  send(owned(9_999, 8n))
  driver.settle()
  written()
  send(seller(5, 100))
  driver.settle()
  const portions: number[] = []
  for (let second = 0; second < 4; second++) {
    driver.advanceWallClock(SECOND)
    driver.settle()
    portions.push(written().length)
  }
  expect(portions).toEqual([1_000, 1_000, 500, 0])
  for (const id of ids) expect(newest.get(id)?.seller_rating).toBeCloseTo(4.86)
})

test('a seller with 2,500 products does not delay the ratings of other sellers', () => {
  const { driver, send, written } = documentsDriver({ commit: 'manual' })
  for (let id = 1; id <= 2_500; id++) {
    send({ topic: 'created', product: product(id) })
    send(owned(id))
  }
  send({ topic: 'created', product: product(9_999, { seller_id: 8n }) })
  send(owned(9_999, 8n))
  driver.settle()
  written()
  send(seller(5, 100))
  send(seller(5, 100, 8n))
  driver.settle()
  driver.advanceWallClock(SECOND)
  driver.settle()
  const first = written()
  expect(first.map(({ product_id }) => product_id)).toContain(9_999)
  expect(first).toHaveLength(501)
  driver.advanceWallClock(SECOND)
  driver.settle()
  expect(written()).toHaveLength(1_000)
})

test('if a rating changes while it is being sent, every product ends up with the latest value', () => {
  const { driver, send, written, newest } = documentsDriver({ commit: 'manual' })
  for (let id = 1; id <= 1_500; id++) {
    send({ topic: 'created', product: product(id) })
    send(owned(id))
  }
  send(seller(5, 100))
  driver.settle()
  driver.advanceWallClock(SECOND)
  send(seller(1, 100))
  driver.settle()
  driver.advanceWallClock(3 * SECOND)
  driver.settle()
  written()
  const ratings = new Set([...newest.values()].map(({ seller_rating }) => seller_rating?.toFixed(3)))
  expect(ratings).toEqual(new Set(['1.227']))
})

test('best sellers are ranked by decayed sales among the public products of the category', () => {
  const { driver, send, written, leaders, newest } = documentsDriver()
  for (const id of [1, 2, 3]) send({ topic: 'created', product: product(id) })
  send({ topic: 'created', product: product(4, { category_id: 2 }) })
  send(sale(1, 1, 8, { at: NOON - 14 * DAY }))
  send(sale(2, 1, 3))
  send(sale(3, 1, 1))
  send(sale(4, 1, 50))
  driver.advanceWallClock(2 * MINUTE)
  written()
  expect(leaders.get(1)).toEqual([2, 1, 3])
  expect(leaders.get(2)).toEqual([4])
  expect([1, 2, 3, 4].map((id) => newest.get(id)?.badges)).toEqual([[], ['bestseller'], [], ['bestseller']])
  send({ topic: 'updated', product: product(2, { revision: 2, status: 'INACTIVE' }) })
  written()
  expect(leaders.get(1)).toEqual([1, 3])
  expect(newest.get(1)?.badges).toEqual(['bestseller'])
  send({ topic: 'updated', product: product(4, { revision: 2, category_id: 1 }) })
  written()
  expect(leaders.get(1)).toEqual([4, 1, 3])
  expect(leaders.get(2)).toEqual([])
  expect([1, 4].map((id) => newest.get(id)?.badges)).toEqual([[], ['bestseller']])
})

test('a category shows its twelve best sellers, and the thirteenth moves up when one of the twelve leaves', () => {
  const { driver, send, written, leaders } = documentsDriver()
  for (let id = 1; id <= 14; id++) {
    send({ topic: 'created', product: product(id) })
    send(sale(id, 1, id))
  }
  driver.advanceWallClock(2 * MINUTE)
  written()
  expect(leaders.get(1)).toEqual([14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3])
  send({ topic: 'updated', product: product(14, { revision: 2, status: 'DELETED' }) })
  written()
  expect(leaders.get(1)).toEqual([13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2])
})

test('for each image, the topology counts the products that use it, each product once, and forgets images that no product uses', () => {
  const { driver, send } = documentsDriver()
  const image = { variant_id: null, alt_text: null, content_type: 'image/png', width: 1, height: 1 }
  const images = (...hashes: string[]) =>
    hashes.map((content_hash, index) => ({ ...image, image_id: index + 1, position: index, content_hash }))
  const references = () => driver.read(catalogImages).map(({ key, value }) => [key, value?.products])
  send({ topic: 'created', product: product(5, { images: images('a', 'b', 'a') }) })
  send({ topic: 'created', product: product(6, { images: images('b') }) })
  expect(references()).toEqual([
    ['a', 1],
    ['b', 1],
    ['b', 2],
  ])
  send({ topic: 'price', product: product(5, { revision: 2, images: images('a', 'b') }) })
  expect(references()).toEqual([])
  send({ topic: 'updated', product: product(5, { revision: 4, images: images('c') }) })
  send({ topic: 'updated', product: product(5, { revision: 3, images: images('a') }) })
  expect(references()).toEqual([
    ['c', 1],
    ['a', undefined],
    ['b', 1],
  ])
  driver.restart({ wipeState: true })
  send({ topic: 'updated', product: product(6, { revision: 2, status: 'DELETED', images: [] }) })
  expect(references()).toEqual([['b', undefined]])
})

test('bad records become dead letters, and the topology processes all other records', () => {
  const { driver, send, written } = documentsDriver()
  driver.pipe(productUpdated, '9', { product: product(5), actor: '', at: NOON })
  driver.pipe(productUpdated, '5', { product: product(5, { category_id: -1 }), actor: '', at: NOON })
  driver.pipe(reviews, '6', { product_id: 5, user_id: 1n, stars: 3, at: NOON })
  send(review(5, 1, 0))
  send(review(5, 1, 6))
  send({ topic: 'review', review: { product_id: 5, user_id: -1n, stars: 3, at: NOON } })
  send(movement(5, { version: 1, variant_id: -4 }))
  send(seller(5, 5, -7n))
  for (const rating of [Number.NaN, 0.5, 5.1]) send(seller(rating, 100))
  send(seller(5, -1))
  send(owned(5, -7n))
  send(owned(-5))
  driver.pipeBytes(productUpdated, Buffer.from('5'), Buffer.from('junk'))
  expect(driver.readDeadLetters()).toHaveLength(15)
  send({ topic: 'created', product: product(5) })
  driver.advanceWallClock(SECOND)
  expect(written()).toHaveLength(1)
})

test('a crash at any step of a commit does not change the result', () => {
  const steps: CommitFaultPoint[] = ['encoded', 'produced', 'offsets-added', 'committed', 'written']
  for (const wipeState of [false, true]) {
    const { driver, send, written, newest, leaders } = documentsDriver()
    send({ topic: 'created', product: product(5) })
    for (const [index, step] of steps.entries()) {
      for (const input of [sale(5, index + 1, 2), review(5, index, 5)]) {
        driver.crashAt(step)
        expect(() => send(input)).toThrow(DriverCrash)
        driver.restart({ wipeState })
        driver.settle()
      }
    }
    driver.advanceWallClock(2 * MINUTE)
    written()
    expect(newest.get(5)).toMatchObject({ rating_count: 5, badges: ['bestseller'] })
    expect(salesAt(newest.get(5)?.sales_log ?? null, NOON)).toBeCloseTo(10)
    expect(leaders.get(1)).toEqual([5])
  }
})
