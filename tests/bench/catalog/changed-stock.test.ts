import { expect, test } from 'vitest'
import { changedStock, unitsAtFirst } from '../../../bench/catalog/detail/views.ts'
import { quantityHint } from '../../../schemas/catalog/documents/stock.ts'
import { variantIdOf } from '../../../schemas/catalog/ids.ts'

test.each([9, 10])('with %i products, each stock change alters the hint on the product page', (products) => {
  const ids = Array.from({ length: products }, (_, index) => index + 1)
  /** For each variant, the units in the warehouse whose stock does not change. */
  const elsewhere = new Map(ids.map((id) => [variantIdOf(id, 1), unitsAtFirst(id)]))
  const hints = new Map(ids.map((id) => [variantIdOf(id, 1), quantityHint(2 * unitsAtFirst(id))]))
  for (let change = 0; change < 4 * products; change++) {
    const { variant_id, available } = changedStock(ids, change)
    const hint = quantityHint(available + elsewhere.get(variant_id)!)
    expect([change, hint]).not.toEqual([change, hints.get(variant_id)])
    hints.set(variant_id, hint)
  }
})
