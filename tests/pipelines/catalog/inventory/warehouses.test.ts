import { expect, test } from 'vitest'
import { decideInventory } from '../../../../pipelines/catalog/inventory/decide.ts'
import { memoryStock } from './memory-stock.ts'

const PRODUCT = 7

test('a variant can be in at most 1,000 warehouses, and these warehouses can receive more stock of the variant', () => {
  const stock = memoryStock()
  function receive(warehouse: number, variant: number) {
    const lines = [{ variant_id: PRODUCT * 256 + variant, warehouse_id: `w${warehouse}`, quantity: 1, offer: 'FOR_SALE' as const }]
    const command = { action: 'RECEIVE' as const, lines, version: null, reservation_id: null, held_ms: 0 }
    const { answer, changes } = decideInventory(command, { productId: PRODUCT, now: 1_000, commandId: 'c' }, stock.read)
    stock.apply(changes)
    return answer.outcome
  }
  for (let warehouse = 1; warehouse <= 1_000; warehouse++) expect(receive(warehouse, 1)).toBe('done')
  expect(receive(1_001, 1)).toBe('too_many_warehouses')
  expect(receive(1_000, 1)).toBe('done')
  expect(receive(1_001, 2)).toBe('done')
})
