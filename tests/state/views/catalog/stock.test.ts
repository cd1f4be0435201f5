import { expect, test } from 'vitest'
import type { CatalogProduct, StockRow } from '../../../../schemas/catalog/types.ts'
import { offerOperation, readOffer } from '../../../../state/views/catalog/offers.ts'
import { readStock, STOCK_VIEW, stockView } from '../../../../state/views/catalog/stock.ts'
import { NOT_CAUGHT_UP } from '../../../../state/views/view.ts'
import { fakeRedis } from '../fake-redis.ts'

const VARIANT = 7 * 256 + 1

function row(warehouse_id: string, available: number): StockRow {
  return { variant_id: VARIANT, warehouse_id, available, reserved: 1, version: 3, first_end: 0 }
}

test('for a variant, the newest row of each warehouse is read, even if the name of a warehouse contains a colon or a space', async () => {
  const redis = fakeRedis()
  for (const [warehouse, available] of [
    ['west:2', 5],
    ['a b', 7],
    ['west:2', 4],
  ] as const)
    redis.apply(stockView.operationsFor(0, `${VARIANT}:${warehouse}`, row(warehouse, available)))
  expect(await readStock(redis.reader, 0, VARIANT)).toBe(NOT_CAUGHT_UP)
  redis.caughtUp(STOCK_VIEW, 1)
  expect(await readStock(redis.reader, 0, VARIANT)).toEqual([
    { variant_id: VARIANT, warehouse_id: 'a b', available: 7, reserved: 1, version: 3 },
    { variant_id: VARIANT, warehouse_id: 'west:2', available: 4, reserved: 1, version: 3 },
  ])
  expect(await readStock(redis.reader, 0, VARIANT + 1)).toEqual([])
})

test('a variant is for sale while both the variant and its product are active, and its status is unknown without a product', async () => {
  const redis = fakeRedis()
  const view = 'products'
  const offersOf = () => Promise.all([1, 2, 3].map((number) => readOffer(redis.reader, view, 0, { productId: 7, number })))
  const put = (status: CatalogProduct['status']) => {
    const variants = (['ACTIVE', 'INACTIVE'] as const).map((one, index) => ({ variant_id: VARIANT + index, status: one }))
    redis.apply([offerOperation(view, 0, '7', { status, variants } as unknown as CatalogProduct)])
  }
  expect(await offersOf()).toEqual([NOT_CAUGHT_UP, NOT_CAUGHT_UP, NOT_CAUGHT_UP])
  redis.caughtUp(view, 1)
  expect(await offersOf()).toEqual(['UNKNOWN', 'UNKNOWN', 'UNKNOWN'])
  put('ACTIVE')
  expect(await offersOf()).toEqual(['FOR_SALE', 'NOT_FOR_SALE', 'UNKNOWN'])
  put('INACTIVE')
  expect(await offersOf()).toEqual(['NOT_FOR_SALE', 'NOT_FOR_SALE', 'UNKNOWN'])
  redis.apply([offerOperation(view, 0, '7', null)])
  expect(await offersOf()).toEqual(['UNKNOWN', 'UNKNOWN', 'UNKNOWN'])
})
