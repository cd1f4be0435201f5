import { expect, test } from 'vitest'
import { decideInventory } from '../../../../pipelines/catalog/inventory/decide.ts'
import type { InventoryAction } from '../../../../schemas/catalog/types.ts'
import { memoryStock } from './memory-stock.ts'

const PRODUCT = 7
const HELD_MS = 900_000

/**
 * Creates stock that counts the open reservations that each command reads. It also records the end time from which the
 * command reads them.
 */
function countedStock() {
  const stock = memoryStock()
  const counted = { from: 0, read: 0 }
  let now = 1_000
  let commands = 0
  function* openFrom(...[key, from]: Parameters<typeof stock.read.openFrom>) {
    counted.from = from
    for (const one of stock.read.openFrom(key, from)) {
      counted.read++
      yield one
    }
  }
  return {
    counted,
    ask(action: InventoryAction, quantity: number) {
      counted.read = 0
      now++
      const lines = [{ variant_id: PRODUCT * 256 + 1, warehouse_id: 'east', quantity, offer: 'FOR_SALE' as const }]
      const command = { action, lines, version: null, reservation_id: null, held_ms: HELD_MS }
      const facts = { productId: PRODUCT, now, commandId: String(++commands) }
      const { answer, changes } = decideInventory(command, facts, { ...stock.read, openFrom })
      stock.apply(changes)
      return answer
    },
  }
}

test('a command without a reservation_id reads only the reservations that it ends, and begins where the previous command stopped', () => {
  const { ask, counted } = countedStock()
  ask('RECEIVE', 2_000)
  for (let index = 0; index < 1_500; index++) ask('RESERVE', 1)
  ask('DEDUCT', 3)
  expect(counted.read).toBe(3)
  const firstEnd = 1_000 + 2 + HELD_MS
  ask('RELEASE', 1)
  expect(counted).toEqual({ from: firstEnd + 2, read: 1 })
})

test('a command that would end more than a thousand reservations is refused', () => {
  const { ask, counted } = countedStock()
  ask('RECEIVE', 2_000)
  for (let index = 0; index < 1_500; index++) ask('RESERVE', 1)
  expect(ask('DEDUCT', 1_001)).toMatchObject({ outcome: 'too_many_reservations' })
  expect(counted.read).toBe(1_001)
  expect(ask('DEDUCT', 1_000)).toMatchObject({ outcome: 'done' })
})
