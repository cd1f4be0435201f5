import { expect, test } from 'vitest'
import { products } from '../../../pipelines/catalog/products/topology.ts'
import { decisionDriver } from '../../../pipelines/engine/testing.ts'
import { variantIdOf } from '../../../schemas/catalog/ids.ts'
import { type ProductAnswer, productFlow } from '../../../schemas/catalog/products/flow.ts'
import { priceChanged, productCreated, productUpdated, sellerProducts } from '../../../schemas/catalog/products/topics.ts'
import { skuUses } from '../../../schemas/catalog/skus/topics.ts'
import { content, creation, MINUTE_MS, newPrice, newStatus, offer, replacement } from './requests.ts'

const ID = 42
const FIRST = variantIdOf(ID, 1)

function opened() {
  const decisions = decisionDriver(products, productFlow)
  const { driver } = decisions
  return {
    ...decisions,
    ask: (command: Parameters<typeof decisions.ask>[1], options?: Parameters<typeof decisions.ask>[2], id = String(ID)) =>
      decisions.ask(id, command, options),
    create: (variants = [offer('a')], more = {}) => decisions.ask(String(ID), creation(driver.now, variants, more)),
    prices: () => driver.read(priceChanged).map(({ value }) => value!),
    uses: () => driver.read(skuUses).map(({ key, value }) => `${key} ${value!.is_used}`),
  }
}

function productOf(answer: ProductAnswer) {
  if (answer.outcome !== 'done') throw new Error(`the outcome is ${answer.outcome}`)
  return answer.product
}

test('a new product has version and revision 1 and numbered variants, and is published', () => {
  const { create, driver, prices, uses, view } = opened()
  const product = productOf(create([offer('a', 1_000), offer('b', 2_000, { compare_price: 2_500 })]))
  expect(product).toMatchObject({ product_id: ID, seller_id: '7', status: 'ACTIVE', version: 1, revision: 1 })
  expect(product.variants.map(({ variant_id, sku }) => [variant_id, sku])).toEqual([
    [FIRST, 'a'],
    [variantIdOf(ID, 2), 'b'],
  ])
  expect(view(String(ID))?.product.title).toBe('Shoe')
  expect(driver.read(productCreated)).toMatchObject([{ key: '42', value: { actor: '7', product: { revision: 1, seller_id: 7n } } }])
  expect(prices()).toMatchObject([
    {
      reason: 'LISTED',
      changes: [
        { old_price_cents: null, new_price_cents: 1_000 },
        { new_price_cents: 2_000, new_compare_price: 2_500 },
      ],
    },
  ])
  expect(uses()).toEqual(['a true', 'b true'])
  expect(driver.read(sellerProducts)).toMatchObject([{ key: '7:42', value: { price_cents: 1_000, variants: 2, revision: 1 } }])
})

test('a product_id is never used again, even after its product was deleted', () => {
  const { ask, create } = opened()
  create()
  expect(create()).toEqual({ outcome: 'taken' })
  ask(newStatus('DELETED'))
  expect(create()).toEqual({ outcome: 'taken' })
})

test('a product is created only with claimed skus, and at most five minutes after they were claimed', () => {
  const { ask, driver } = opened()
  expect(ask(creation(driver.now - 5 * MINUTE_MS - 1))).toEqual({ outcome: 'unclaimed', skus: ['a'] })
  expect(ask(creation(driver.now, [offer('a'), offer('b')], { claimed_skus: ['b'] }))).toEqual({ outcome: 'unclaimed', skus: ['a'] })
  expect(ask(creation(driver.now - 5 * MINUTE_MS))).toMatchObject({ outcome: 'done' })
})

test('a replacement matches variants by sku and deactivates the variants that it omits, and a later replacement can reactivate them', () => {
  const { ask, create, driver, uses } = opened()
  create([offer('a'), offer('b')])
  uses()
  const claim = { claimed_at: driver.now, claimed_skus: ['c'] }
  const replaced = productOf(ask(replacement([offer('c'), offer('b', 1_100)], claim)))
  expect(replaced).toMatchObject({ version: 2, revision: 2 })
  expect(replaced.variants.map(({ sku, status, price_cents }) => [sku, status, price_cents])).toEqual([
    ['a', 'INACTIVE', 1_000],
    ['b', 'ACTIVE', 1_100],
    ['c', 'ACTIVE', 1_000],
  ])
  expect(uses()).toEqual(['c true'])
  expect(driver.read(productUpdated)).toHaveLength(1)
  const again = productOf(ask(replacement([offer('a', 900)])))
  expect(again.variants.map(({ variant_id, status }) => [variant_id, status])).toEqual([
    [FIRST, 'ACTIVE'],
    [variantIdOf(ID, 2), 'INACTIVE'],
    [variantIdOf(ID, 3), 'INACTIVE'],
  ])
})

test('a replacement with a new sku needs a claim', () => {
  const { ask, create } = opened()
  create()
  expect(ask(replacement([offer('a'), offer('b')]))).toEqual({ outcome: 'unclaimed', skus: ['b'] })
})

test('a product has at most 50 active variants at a time, and at most 255 variants over its lifetime', () => {
  const { ask, create, driver } = opened()
  const many = (from: number, count: number) => Array.from({ length: count }, (_, i) => offer(`s${from + i}`))
  const claimed = (variants: ReturnType<typeof many>) => ({ claimed_at: driver.now, claimed_skus: variants.map(({ sku }) => sku) })
  expect(create(many(0, 51))).toEqual({ outcome: 'too_many_variants' })
  expect(create(many(0, 50))).toMatchObject({ outcome: 'done' })
  for (const from of [50, 100, 150, 200]) {
    expect(ask(replacement(many(from, 50), claimed(many(from, 50))))).toMatchObject({ outcome: 'done' })
  }
  expect(ask(replacement(many(250, 6), claimed(many(250, 6))))).toEqual({ outcome: 'too_many_variants' })
  expect(ask(replacement(many(250, 5), claimed(many(250, 5))))).toMatchObject({ outcome: 'done' })
})

test('a product that is larger than 256 KiB is refused', () => {
  const { create } = opened()
  const attributes = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`name-${i}`, 'x'.repeat(200)]))
  const large = (count: number) =>
    Array.from({ length: count }, (_, i) => offer(`s${i}`, 1_000, { attributes: { ...attributes, extra: 'y'.repeat(1_100) } }))
  expect(create(large(50)).outcome).toBe('too_large')
  expect(create(large(40)).outcome).toBe('done')
})

test('a change is refused unless the version that the caller expects is the current version', () => {
  const { ask, create } = opened()
  create()
  expect(ask(replacement([offer('a')], { expected_version: 2 }))).toEqual({ outcome: 'other_version', version: 1 })
  expect(ask(replacement([offer('a')], { expected_version: 1 }))).toMatchObject({ outcome: 'done' })
  expect(ask(newStatus('INACTIVE', { expected_version: 1 }))).toEqual({ outcome: 'other_version', version: 2 })
})

test('only the owner and administrators can change a product, and other callers cannot find out that a hidden product exists', () => {
  const { ask, create } = opened()
  create()
  const stranger = { seller_id: 8n, actor: '8' }
  expect(ask(newStatus('INACTIVE', stranger))).toEqual({ outcome: 'forbidden' })
  ask(newStatus('INACTIVE'))
  expect(ask(newStatus('ACTIVE', stranger))).toEqual({ outcome: 'not_found' })
  expect(ask(newStatus('ACTIVE', { seller_id: null }))).toMatchObject({ outcome: 'done' })
})

test('only the documented status changes are accepted, and each change creates a new version', () => {
  const { ask, create, driver } = opened()
  expect(productOf(create([offer('a')], { status: 'DRAFT' })).status).toBe('DRAFT')
  expect(ask(newStatus('INACTIVE'))).toEqual({ outcome: 'no_transition', status: 'DRAFT' })
  expect(productOf(ask(newStatus('ACTIVE')))).toMatchObject({ status: 'ACTIVE', version: 2 })
  expect(productOf(ask(newStatus('ACTIVE')))).toMatchObject({ version: 2, revision: 2 })
  expect(ask(newStatus('DRAFT'))).toEqual({ outcome: 'no_transition', status: 'ACTIVE' })
  expect(ask(replacement([offer('a')], { status: 'DRAFT' }))).toEqual({ outcome: 'no_transition', status: 'ACTIVE' })
  expect(productOf(ask(newStatus('INACTIVE'))).version).toBe(3)
  expect(driver.read(productUpdated).map(({ value }) => value!.product.status)).toEqual(['ACTIVE', 'INACTIVE'])
})

test('a deleted product releases its skus and disappears from views and lists', () => {
  const { ask, create, driver, uses, view } = opened()
  create([offer('a'), offer('b')])
  ask(replacement([offer('a')]))
  uses()
  driver.read(sellerProducts)
  expect(productOf(ask(newStatus('DELETED')))).toMatchObject({ status: 'DELETED', description: '' })
  expect(uses()).toEqual(['a false', 'b false'])
  expect(view(String(ID))).toBeUndefined()
  expect(driver.read(sellerProducts)).toMatchObject([{ key: '7:42', value: null }])
  expect(driver.read(productUpdated).at(-1)?.value).toMatchObject({ product: { status: 'DELETED' } })
  for (const later of [newStatus('ACTIVE'), replacement([offer('a')]), newPrice(FIRST, 1_000)])
    expect(ask(later)).toEqual({ outcome: 'not_found' })
})

test('a deleted product keeps neither its images nor its price periods', () => {
  const { ask, create, driver } = opened()
  const image = { image_id: 1, sku: null, alt_text: null, content_hash: 'hash', content_type: 'image/png', width: 1, height: 1 }
  create([offer('a')], { content: content([offer('a')], { images: [image] }) })
  const tomorrow = driver.now + 24 * 60 * MINUTE_MS
  expect(productOf(ask(newPrice(FIRST, 800, { starts_at: tomorrow, ends_at: tomorrow + MINUTE_MS }))).images).toHaveLength(1)
  driver.read(productUpdated)
  const { images, periods } = productOf(ask(newStatus('DELETED')))
  expect({ images, periods }).toEqual({ images: [], periods: {} })
  expect(driver.read(productUpdated)).toMatchObject([{ value: { product: { images: [] } } }])
})

test('a price change creates no new version, and its event contains the whole product', () => {
  const { ask, create, prices } = opened()
  create()
  prices()
  expect(productOf(ask(newPrice(FIRST, 1_100, { sets_compare_price: true, compare_price: 1_300 })))).toMatchObject({
    version: 1,
    revision: 2,
  })
  expect(prices()).toMatchObject([
    {
      reason: 'CHANGED',
      is_forced: false,
      product: { revision: 2, title: 'Shoe' },
      changes: [{ variant_id: FIRST, old_price_cents: 1_000, new_price_cents: 1_100, old_compare_price: null, new_compare_price: 1_300 }],
    },
  ])
  expect(ask(newPrice(variantIdOf(ID, 2), 1_000))).toEqual({ outcome: 'variant_not_found' })
})

test('a price may range from half the lowest to one and a half times the highest accepted price', () => {
  const { ask, create, prices } = opened()
  create([offer('a', 1_001)])
  const refused = { outcome: 'price_out_of_range', variant_id: FIRST, sku: 'a', lowest_cents: 501, highest_cents: 1_501 }
  expect(ask(newPrice(FIRST, 1_502))).toEqual(refused)
  expect(ask(newPrice(FIRST, 500))).toEqual(refused)
  expect(ask(replacement([offer('a', 1_502)]))).toEqual(refused)
  expect(ask(newPrice(FIRST, 1_501))).toMatchObject({ outcome: 'done' })
  expect(ask(newPrice(FIRST, 501))).toMatchObject({ outcome: 'done' })
  expect(ask(newPrice(FIRST, 2_251))).toMatchObject({ outcome: 'done' })
  prices()
  expect(ask(newPrice(FIRST, 9_000, {}, { may_force: true, seller_id: null, actor: 'root' }))).toMatchObject({ outcome: 'done' })
  expect(prices()).toMatchObject([{ is_forced: true, actor: 'root' }])
  // An accepted price changes the allowed range.
  expect(ask(newPrice(FIRST, 13_500))).toMatchObject({ outcome: 'done' })
  expect(prices()).toMatchObject([{ is_forced: false }])
})

test('of the prices that one replacement sets, only those outside the allowed range are recorded as forced', () => {
  const { ask, create, prices } = opened()
  create([offer('a'), offer('b'), offer('c')])
  prices()
  ask(replacement([offer('a', 1_100), offer('b', 9_000), offer('c', 1_000)], { may_force: true, seller_id: null, actor: 'root' }))
  const shown = prices().map(({ is_forced, changes }) => [is_forced, changes.map(({ variant_id }) => variant_id)])
  expect(shown).toEqual([
    [false, [FIRST]],
    [true, [variantIdOf(ID, 2)]],
  ])
})

test('when an inactive variant returns, its new price must be in the range that its own earlier prices allow', () => {
  const { ask, create } = opened()
  create([offer('a'), offer('b')])
  ask(replacement([offer('b')]))
  expect(ask(replacement([offer('a', 5_000)]))).toMatchObject({ outcome: 'price_out_of_range', sku: 'a' })
})

test('timers begin and end a period, and after the period the regular price applies again', () => {
  const { ask, create, driver, prices, view } = opened()
  create()
  const starts_at = driver.now + 10 * MINUTE_MS
  const ends_at = starts_at + 5 * MINUTE_MS
  prices()
  expect(productOf(ask(newPrice(FIRST, 800, { starts_at, ends_at }))).periods).toEqual({
    [FIRST]: [{ starts_at, ends_at, price_cents: 800, compare_price: null }],
  })
  expect(prices()).toEqual([])
  driver.restart({ wipeState: true })
  driver.advanceWallClock(10 * MINUTE_MS + 1_000)
  expect(prices()).toMatchObject([{ reason: 'PERIOD_BEGAN', actor: '7', changes: [{ old_price_cents: 1_000, new_price_cents: 800 }] }])
  expect(view(String(ID))).toMatchObject({ product: { version: 1, variants: [{ price_cents: 800 }] } })
  driver.advanceWallClock(5 * MINUTE_MS)
  expect(prices()).toMatchObject([{ reason: 'PERIOD_ENDED', changes: [{ old_price_cents: 800, new_price_cents: 1_000 }] }])
  driver.advanceWallClock(60 * MINUTE_MS)
  expect(prices()).toEqual([])
})

test('a thousand periods that are planned to begin at the same time begin within a second', () => {
  const { ask, driver, prices } = opened()
  const starts_at = driver.now + 10 * MINUTE_MS
  for (let id = 1; id <= 1_000; id++) {
    ask(creation(driver.now, [offer('a')]), undefined, String(id))
    ask(newPrice(variantIdOf(id, 1), 800, { starts_at, ends_at: starts_at + MINUTE_MS }), undefined, String(id))
  }
  prices()
  driver.advanceWallClock(starts_at + 1_000 - driver.now)
  expect(prices()).toHaveLength(1_000)
})

test('periods of a variant must not overlap, and periods that passed while the topology was stopped have no effect', () => {
  const { ask, create, driver, prices, view } = opened()
  create()
  const starts_at = driver.now + 10 * MINUTE_MS
  const ends_at = starts_at + 10 * MINUTE_MS
  const period = (from: number, to: number) => ask(newPrice(FIRST, 800, { starts_at: from, ends_at: to }))
  period(starts_at, ends_at)
  expect(period(starts_at + 1, ends_at + 1)).toEqual({ outcome: 'period_overlaps', starts_at, ends_at })
  expect(period(starts_at - 1, ends_at + 1)).toMatchObject({ outcome: 'period_overlaps' })
  expect(period(starts_at - 1, starts_at)).toMatchObject({ outcome: 'done' })
  expect(period(ends_at, ends_at + 1)).toMatchObject({ outcome: 'done' })
  expect(period(driver.now - 5, driver.now)).toEqual({ outcome: 'period_over' })
  expect(ask(newPrice(FIRST, 10_000, { starts_at: ends_at + 5, ends_at: ends_at + 6 }))).toMatchObject({ outcome: 'price_out_of_range' })
  prices()
  driver.restart({ downMs: 60 * MINUTE_MS })
  driver.advanceWallClock(1_000)
  expect(prices()).toEqual([])
  expect(view(String(ID))).toMatchObject({ pricing: [{ regular: null, periods: [] }], product: { variants: [{ price_cents: 1_000 }] } })
})

test('a period can begin immediately, and a price that takes effect immediately ends the period', () => {
  const { ask, create, driver, prices, view } = opened()
  create()
  prices()
  ask(newPrice(FIRST, 700, { ends_at: driver.now + 10 * MINUTE_MS }))
  expect(prices()).toMatchObject([{ reason: 'PERIOD_BEGAN' }])
  // The seller replaces the product twice, first with the regular and then with the reduced price. Neither changes the
  // price, so the period continues.
  ask(replacement([offer('a', 1_000)]))
  ask(replacement([offer('a', 700)]))
  expect(prices()).toEqual([])
  ask(newPrice(FIRST, 900))
  expect(prices()).toMatchObject([{ changes: [{ old_price_cents: 700, new_price_cents: 900 }] }])
  driver.advanceWallClock(20 * MINUTE_MS)
  expect(prices()).toEqual([])
  expect(view(String(ID))).toMatchObject({ pricing: [{ lowest_cents: 700, regular: null, periods: [] }] })
})

test('a price that takes effect immediately ends a period that has begun since the last run of the timers', () => {
  const { ask, create, driver, prices, view } = opened()
  create([offer('a'), offer('b')])
  const period = { starts_at: driver.now + 10, ends_at: driver.now + 10 * MINUTE_MS }
  for (const command of [newPrice(FIRST, 900), replacement([offer('a', 900), offer('b')])]) {
    const { product, pricing } = view(String(ID))!
    expect([product.variants[0].price_cents, pricing[0].periods]).toEqual([1_000, []])
    ask(newPrice(FIRST, 700, period))
    ask(newPrice(variantIdOf(ID, 2), 800, period))
    prices()
    driver.advanceWallClock(20)
    expect(productOf(ask(command)).periods[FIRST]).toBeUndefined()
    expect(prices().map(({ reason, changes }) => [reason, ...changes.map(({ new_price_cents }) => new_price_cents)])).toEqual([
      ['CHANGED', 900],
      ['PERIOD_BEGAN', 800],
    ])
    driver.advanceWallClock(MINUTE_MS)
    expect(view(String(ID))?.product.variants.map(({ price_cents }) => price_cents)).toEqual([900, 800])
    ask(newPrice(FIRST, 1_000))
    ask(newPrice(variantIdOf(ID, 2), 1_000))
    Object.assign(period, { starts_at: driver.now + 10, ends_at: driver.now + 10 * MINUTE_MS })
  }
})

test('if a replacement repeats the price of a period that has ended since the last run of the timers, the product keeps this price', () => {
  const { ask, create, driver, view } = opened()
  create()
  ask(newPrice(FIRST, 700, { ends_at: driver.now + 10 }))
  driver.advanceWallClock(20)
  ask(replacement([offer('a', 700)]))
  driver.advanceWallClock(MINUTE_MS)
  expect(view(String(ID))?.product.variants).toMatchObject([{ price_cents: 700 }])
})

test('during a period, a replacement that repeats the regular or the reduced price can change the compare price of this price', () => {
  const { ask, create, driver, view } = opened()
  create([offer('a', 1_000, { compare_price: 1_200 })])
  ask(newPrice(FIRST, 700, { ends_at: driver.now + 10 * MINUTE_MS }))
  const reduced = productOf(ask(replacement([offer('a', 700, { compare_price: 1_100 })])))
  expect(reduced.variants).toMatchObject([{ price_cents: 700, compare_price: 1_100 }])
  expect(reduced.periods[FIRST]).toMatchObject([{ price_cents: 700, compare_price: 1_100 }])
  ask(replacement([offer('a', 1_000, { compare_price: 1_300 })]))
  driver.advanceWallClock(20 * MINUTE_MS)
  expect(view(String(ID))).toMatchObject({ product: { variants: [{ price_cents: 1_000, compare_price: 1_300 }] } })
})

test('the price history names who planned each period, even if several periods begin at the same time', () => {
  const { ask, create, driver, prices } = opened()
  create([offer('a'), offer('b'), offer('c')])
  const period = { starts_at: driver.now + MINUTE_MS, ends_at: driver.now + 2 * MINUTE_MS }
  const admin = { actor: 'admin', seller_id: null, may_force: true }
  ask(newPrice(FIRST, 100, period, admin))
  ask(newPrice(variantIdOf(ID, 2), 900, period))
  ask(newPrice(variantIdOf(ID, 3), 900, period))
  prices()
  driver.advanceWallClock(MINUTE_MS + 1_000)
  const shown = prices().map(({ actor, is_forced, changes }) => [actor, is_forced, changes.map(({ variant_id }) => variant_id)])
  expect(shown).toEqual([
    ['admin', true, [FIRST]],
    ['7', false, [variantIdOf(ID, 2), variantIdOf(ID, 3)]],
  ])
})

test('a period that is planned during another period has the regular compare price, and not that of the other period', () => {
  const { ask, create, driver } = opened()
  create([offer('a', 1_000, { compare_price: 1_500 })])
  const ends_at = driver.now + MINUTE_MS
  ask(newPrice(FIRST, 800, { ends_at, sets_compare_price: true, compare_price: 1_000 }))
  const { periods } = productOf(ask(newPrice(FIRST, 900, { starts_at: ends_at, ends_at: ends_at + MINUTE_MS })))
  expect(periods[FIRST].map(({ compare_price }) => compare_price)).toEqual([1_000, 1_500])
})

test('a product has at most 100 planned periods at a time', () => {
  const { ask, create, driver } = opened()
  create([offer('a'), offer('b')])
  const begin = driver.now + MINUTE_MS
  const period = (i: number) =>
    ask(newPrice(variantIdOf(ID, 1 + (i % 2)), 900, { starts_at: begin + i * 1_000, ends_at: begin + i * 1_000 + 1_000 })).outcome
  for (let i = 0; i < 100; i++) expect(period(i)).toBe('done')
  expect(period(100)).toBe('too_many_periods')
  driver.advanceWallClock(2 * MINUTE_MS)
  expect(period(100)).toBe('done')
})
