import { expect, test } from 'vitest'
import { inventory } from '../../../pipelines/catalog/inventory/topology.ts'
import { products } from '../../../pipelines/catalog/products/topology.ts'
import { reservations } from '../../../pipelines/catalog/reservations/topology.ts'
import { skus } from '../../../pipelines/catalog/skus/topology.ts'
import { decisionDriver } from '../../../pipelines/engine/testing.ts'
import { inventoryFlow } from '../../../schemas/catalog/inventory/flow.ts'
import { reservationOutcomes } from '../../../schemas/catalog/inventory/topics.ts'
import { productFlow } from '../../../schemas/catalog/products/flow.ts'
import { reservationFlow } from '../../../schemas/catalog/reservations/flow.ts'
import { skuFlow } from '../../../schemas/catalog/skus/flow.ts'
import { skuUses } from '../../../schemas/catalog/skus/topics.ts'
import type { InventoryCommand } from '../../../schemas/catalog/types.ts'
import { creation } from './requests.ts'

const JUNK = Buffer.from('junk')
const VARIANT = 7 * 256 + 1
const HELD_MS = 5_000

function stockCommand(more: Partial<InventoryCommand> = {}): InventoryCommand {
  const lines = [{ variant_id: VARIANT, warehouse_id: 'east', quantity: 5, offer: 'FOR_SALE' as const }]
  return { action: 'RECEIVE', lines, version: null, reservation_id: null, held_ms: HELD_MS, ...more }
}

test('the stock topology continues after invalid commands and after invalid records about carts that have ended', () => {
  const { driver, ask, result } = decisionDriver(inventory, inventoryFlow)
  driver.pipeBytes(inventoryFlow.commands, Buffer.from('7'), JUNK)
  driver.pipeBytes(reservationOutcomes, Buffer.from('7'), JUNK)
  expect(result('7', stockCommand({ action: 'RESERVE_PART' }))).toBeUndefined()
  expect(result('7', stockCommand({ lines: [] }))).toBeUndefined()
  const nowhere = [{ variant_id: VARIANT, warehouse_id: null, quantity: 5, offer: 'FOR_SALE' as const }]
  expect(result('7', stockCommand({ lines: nowhere }))).toBeUndefined()
  expect(driver.readDeadLetters()).toHaveLength(5)
  expect(ask('7', stockCommand())).toMatchObject({ outcome: 'done', row: { available: 5 } })
})

test('the cart topology continues after an invalid command', () => {
  const { driver, ask } = decisionDriver(reservations, reservationFlow)
  driver.pipeBytes(reservationFlow.commands, Buffer.from('c-1'), JUNK)
  expect(driver.readDeadLetters()).toHaveLength(1)
  const lines = [{ variant_id: VARIANT, warehouse_id: 'east', quantity: 2 }]
  const parts_end_at = driver.now + HELD_MS + 60_000
  const opened = ask('c-1', { action: 'OPEN', parts: [{ product_id: 7, lines }], parts_end_at, held_ms: HELD_MS })
  expect(opened).toMatchObject({ outcome: 'done' })
})

test('the product topology continues after an invalid command and after a command without content', () => {
  const { driver, ask, result } = decisionDriver(products, productFlow)
  driver.pipeBytes(productFlow.commands, Buffer.from('42'), JUNK)
  expect(result('42', creation(driver.now, undefined, { content: null }))).toBeUndefined()
  expect(driver.readDeadLetters()).toHaveLength(2)
  expect(ask('42', creation(driver.now))).toMatchObject({ outcome: 'done' })
})

test('the sku topology continues after an invalid command and after an invalid record about the use of a sku', () => {
  const { driver, ask } = decisionDriver(skus, skuFlow)
  driver.pipeBytes(skuFlow.commands, Buffer.from('a'), JUNK)
  driver.pipeBytes(skuUses, Buffer.from('a'), JUNK)
  expect(driver.readDeadLetters()).toHaveLength(2)
  expect(ask('a', { action: 'claim', product_id: 1, claim_id: 'c', skus: ['a'] })).toMatchObject({ outcome: 'claimed' })
})
