import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decideInventory } from '../../../../pipelines/catalog/inventory/decide.ts'
import { followCart } from '../../../../pipelines/catalog/inventory/decide-part.ts'
import { stockLedger } from '../../../../pipelines/catalog/inventory/ledger.ts'
import type { InventoryAnswer } from '../../../../schemas/catalog/inventory/flow.ts'
import type { CartEnd, InventoryAction, InventoryChange, InventoryCommand, VariantOffer } from '../../../../schemas/catalog/types.ts'
import { type ModelMovement, type StockModel, stockModel } from '../../../chaos/inventory/stock-model.ts'
import { memoryStock } from './memory-stock.ts'

const PRODUCT = 7
const START_AT = Date.UTC(2026, 0, 1)
const FIRST_VARIANT = PRODUCT * 256 + 1
const FIRST_STOCK = 10
const HELD_MS = 1_000

/**
 * One step of a random history. `named` is `NO_NAME`, or the index of one of the reservations that exist at the time of
 * the step. `chosen` is the index of one of the reservations that belong to carts. Both indexes are taken modulo the
 * number of candidates.
 */
type Step =
  | {
      readonly kind: 'command'
      readonly action: InventoryAction
      readonly lines: readonly [number, number, number][]
      readonly named: number
      readonly version: number
      readonly offer: VariantOffer
    }
  | { readonly kind: 'cart'; readonly outcome: CartEnd; readonly chosen: number }
  | { readonly kind: 'wait'; readonly ms: number }

const NO_NAME = -1
const NO_VERSION = -1
/**
 * A line of a command: index of the variant, index of the warehouse, and quantity. In commands for carts, the highest
 * warehouse index means no warehouse. In other commands, it means the first warehouse.
 */
const line = fc.tuple(fc.nat(1), fc.nat(2), fc.integer({ min: 1, max: 4 }))
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      kind: fc.constant('command' as const),
      action: fc.constantFrom<InventoryAction>(
        'RESERVE',
        'RESERVE',
        'RESERVE',
        'DEDUCT',
        'DEDUCT',
        'RELEASE',
        'RECEIVE',
        'ADJUST',
        'RESERVE_PART',
        'RELEASE_PART',
      ),
      lines: fc.array(line, { minLength: 1, maxLength: 4 }),
      named: fc.oneof(fc.constant(NO_NAME), fc.nat(9)),
      offer: fc.oneof(
        { weight: 9, arbitrary: fc.constant('FOR_SALE' as const) },
        { weight: 1, arbitrary: fc.constantFrom<VariantOffer>('NOT_FOR_SALE', 'UNKNOWN') },
      ),
      version: fc.oneof({ weight: 6, arbitrary: fc.constant(NO_VERSION) }, { weight: 1, arbitrary: fc.nat(9) }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('cart' as const),
      outcome: fc.constantFrom<CartEnd>('DEDUCTED', 'RELEASED', 'EXPIRED', 'EXTENDED'),
      chosen: fc.nat(5),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('wait' as const),
      ms: fc.constantFrom(0, 1, 200, HELD_MS - 200, HELD_MS - 1, HELD_MS, HELD_MS + 1, 2 * HELD_MS),
    }),
  },
)

const WAREHOUSES = ['east', 'west']

test('every answer and every movement equals that of a model that uses plain lists', () => {
  fc.assert(fc.property(fc.array(step, { maxLength: 80, size: 'max' }), play), { numRuns: 300 })
})

function play(steps: readonly Step[]): void {
  const stock = memoryStock()
  const model = stockModel()
  let now = START_AT

  function ask(id: string, command: InventoryCommand): void {
    const { answer, changes } = decideInventory(command, { productId: PRODUCT, now, commandId: id }, stock.read)
    stock.apply(changes)
    const expected = model.command(PRODUCT, command, now, id)
    expect(changes.movements.map(plain)).toEqual(expected.movements)
    expect(shown(answer)).toEqual(expected.answer)
  }

  function receive(warehouse_id: string): void {
    const lines = [{ variant_id: FIRST_VARIANT, warehouse_id, quantity: FIRST_STOCK, offer: 'FOR_SALE' as const }]
    ask(`first-${warehouse_id}`, { action: 'RECEIVE', lines, version: null, reservation_id: null, held_ms: 0 })
  }

  WAREHOUSES.forEach(receive)
  steps.forEach((taken, index) => {
    if (taken.kind === 'wait') {
      now += taken.ms
      for (const { reservation_id } of stock.endedBefore(now - 1_000)) {
        const ledger = stockLedger(stock.read, { productId: PRODUCT, at: now, commandId: null })
        ledger.end(stock.read.reservation(reservation_id)!, 'EXPIRE')
        stock.apply(ledger.changes)
        expect(ledger.changes.movements.map(plain)).toEqual(model.expire(PRODUCT, reservation_id))
      }
    } else if (taken.kind === 'cart') {
      const parts = model.reservations.filter(({ isPart }) => isPart)
      const reservation_id = parts.length === 0 ? 'c-none' : parts[taken.chosen % parts.length].id
      const outcome = { reservation_id, product_id: PRODUCT, outcome: taken.outcome, ends_at: now + HELD_MS, lines: [], at: now }
      const ledger = stockLedger(stock.read, { productId: PRODUCT, at: now, commandId: null })
      const isKnown = followCart(outcome, stock.read, ledger)
      stock.apply(ledger.changes)
      const expected = model.outcome(outcome)
      expect(isKnown).toBe(expected !== undefined)
      expect(ledger.changes.movements.map(plain)).toEqual(expected ?? [])
    } else {
      ask(`command-${index}`, commandOf(taken, model.reservations, index))
    }
    expect(model.broken()).toEqual([])
  })
  for (const { variant_id, warehouse_id, available, reserved, version } of model.rows)
    expect(stock.read.row({ variant_id, warehouse_id })).toMatchObject({ available, reserved, version })
}

/**
 * Returns the command of a step. A command that names a reservation usually also names the reservation's own stock row.
 */
function commandOf(step: Extract<Step, { kind: 'command' }>, open: StockModel['reservations'], index: number): InventoryCommand {
  const { action, named, version } = step
  const isPart = action.endsWith('_PART')
  const chosen = named === NO_NAME || open.length === 0 ? undefined : open[named % open.length]
  const lines = (isPart ? step.lines : step.lines.slice(0, 1)).map(([variant, warehouse, quantity]) => ({
    variant_id: FIRST_VARIANT + variant,
    warehouse_id: WAREHOUSES[warehouse] ?? (isPart ? null : WAREHOUSES[0]),
    offer: step.offer,
    quantity: action === 'ADJUST' ? quantity - 3 : action === 'RECEIVE' ? 2 * quantity : quantity,
    ...(chosen === undefined || named === 0 || isPart
      ? {}
      : { variant_id: chosen.lines[0].row.variant_id, warehouse_id: chosen.lines[0].row.warehouse_id }),
  }))
  const id = chosen?.id ?? null
  const names: Partial<Record<InventoryAction, string | null>> = {
    DEDUCT: id,
    RELEASE: id,
    RELEASE_PART: id ?? 'c-none',
    RESERVE_PART: `c-${index}`,
  }
  return { action, lines, version: version === NO_VERSION ? null : version, reservation_id: names[action] ?? null, held_ms: HELD_MS }
}

function plain({ variant_id, warehouse_id, kind, quantity, reservation_id, available, reserved, version }: InventoryChange): ModelMovement {
  return { variant_id, warehouse_id, kind, quantity, reservation_id, available, reserved, version }
}

function shown(answer: InventoryAnswer): object {
  if ('row' in answer) {
    const { outcome, row } = answer
    const { available, reserved, version } = row
    return { outcome, available, reserved, version, ...('reservations' in answer ? { reservations: answer.reservations } : {}) }
  }
  if (answer.outcome === 'not_for_sale') return { outcome: answer.outcome }
  return answer.outcome === 'out_of_stock' ? { outcome: answer.outcome, available: answer.available } : answer
}
