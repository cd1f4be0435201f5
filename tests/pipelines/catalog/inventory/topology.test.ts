import { expect, test } from 'vitest'
import { inventory } from '../../../../pipelines/catalog/inventory/topology.ts'
import { type CommitFault, DriverCrash, decisionDriver, testDriver } from '../../../../pipelines/engine/testing.ts'
import { inventoryFlow } from '../../../../schemas/catalog/inventory/flow.ts'
import { inventoryChanged, reservationOutcomes } from '../../../../schemas/catalog/inventory/topics.ts'
import type { CartEnd, InventoryAction, InventoryCommand } from '../../../../schemas/catalog/types.ts'

const PRODUCT = '7'
const VARIANT = 7 * 256 + 1
const EAST = 'east'
const HELD_MS = 5_000
const PART_MS = HELD_MS + 60_000
const CART = 'c-1'
const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

function world() {
  const decider = decisionDriver(inventory, inventoryFlow)
  const { driver } = decider
  const ask = (action: InventoryAction, quantity: number, more: Partial<InventoryCommand> = {}, id?: string) =>
    decider.ask(PRODUCT, commandOf(action, quantity, more), id === undefined ? {} : { id })
  return {
    ...decider,
    ask,
    row: () => decider.view(`${VARIANT}:${EAST}`),
    moved: () => driver.read(inventoryChanged).map(({ value }) => [value?.kind, value?.quantity, value?.available, value?.reserved]),
    endCart(outcome: CartEnd, ends_at = driver.now): void {
      driver.pipe(reservationOutcomes, PRODUCT, { reservation_id: CART, product_id: 7, outcome, ends_at, lines: [], at: driver.now })
    },
  }
}

function commandOf(action: InventoryAction, quantity: number, more: Partial<InventoryCommand> = {}): InventoryCommand {
  const lines = [{ variant_id: VARIANT, warehouse_id: EAST, quantity, offer: 'FOR_SALE' as const }]
  return { action, lines, version: null, reservation_id: null, held_ms: HELD_MS, ...more }
}

test('for each decision, the row that clients read, the answer and the stock movement agree', () => {
  const { ask, row, moved, driver } = world()
  ask('RECEIVE', 10)
  const answer = ask('RESERVE', 3, {}, 'first')
  const ends_at = driver.now + HELD_MS
  expect(answer).toMatchObject({ outcome: 'done', reservations: [{ reservation_id: 'r-first', quantity: 3, ends_at }] })
  expect(row()).toMatchObject({ available: 7, reserved: 3, version: 2 })
  expect(answer).toMatchObject({ row: { available: 7, reserved: 3, version: 2 } })
  expect(moved()).toEqual([
    ['RECEIVE', 10, 10, 0],
    ['RESERVE', 3, 7, 3],
  ])
})

test('a reservation can be deducted until its end, and expires once, a second after its end', () => {
  const { ask, moved, driver } = world()
  ask('RECEIVE', 2)
  ask('RESERVE', 1, {}, 'first')
  ask('RESERVE', 1, {}, 'second')
  moved()
  const end = driver.now + HELD_MS
  driver.advanceWallClock(HELD_MS)
  expect(ask('DEDUCT', 1, { reservation_id: 'r-first' })).toMatchObject({ outcome: 'done' })
  driver.advanceWallClock(900)
  expect(moved()).toEqual([['DEDUCT', 1, 0, 1]])
  expect(ask('DEDUCT', 1, { reservation_id: 'r-second' })).toMatchObject({ outcome: 'reservation_ended' })
  expect(ask('RELEASE', 1)).toMatchObject({ outcome: 'reservation_ended' })
  driver.advanceWallClock(2_000)
  expect(moved()).toEqual([['EXPIRE', 1, 1, 0]])
  expect(driver.now).toBe(end + 2_900)
  driver.advanceWallClock(60_000)
  expect(moved()).toEqual([])
})

test.each([
  ['RESERVE', null],
  ['RESERVE_PART', CART],
] as const)(
  'a %s that is repeated after a day, while its reservation is still open, makes no second reservation',
  (action, reservation_id) => {
    const { ask, row, driver } = world()
    ask('RECEIVE', 5)
    const asked = { reservation_id, held_ms: DAY_MS }
    const first = ask(action, 2, asked, 'first')
    driver.restart({ downMs: DAY_MS })
    const again = ask(action, 2, asked, 'first')
    expect(again).toEqual(action === 'RESERVE' ? first : { ...(first as object), was_open: true })
    expect(row()).toMatchObject({ available: 3, reserved: 2 })
    driver.advanceWallClock(2 * MINUTE_MS)
    expect(row()).toMatchObject({ available: 5, reserved: 0 })
  },
)

test('the time of a command is the time at which the broker appended it', () => {
  const { ask, result, driver } = world()
  ask('RECEIVE', 1)
  ask('RESERVE', 1, {}, 'first')
  const sentAt = driver.now + HELD_MS
  driver.advanceWallClock(HELD_MS + 500)
  const late = result(PRODUCT, commandOf('DEDUCT', 1, { reservation_id: 'r-first' }), { appendedAt: sentAt })
  expect(JSON.parse(late!.answer)).toMatchObject({ outcome: 'done' })
})

test.each([
  ['DEDUCTED', [['DEDUCT', 2, 8, 0]]],
  ['RELEASED', [['RELEASE', 2, 10, 0]]],
  ['EXPIRED', [['EXPIRE', 2, 10, 0]]],
] as const)(
  'the outcome %s of a cart moves the reserved stock of the cart, and a repetition of the outcome moves nothing',
  (outcome, movements) => {
    const { ask, moved, endCart, driver } = world()
    ask('RECEIVE', 10)
    ask('RESERVE_PART', 2, { reservation_id: CART })
    moved()
    expect(ask('DEDUCT', 1, { reservation_id: CART })).toMatchObject({ outcome: 'reservation_in_cart' })
    expect(ask('DEDUCT', 1)).toMatchObject({ outcome: 'reservation_ended' })
    endCart(outcome)
    expect(moved()).toEqual(movements)
    endCart(outcome)
    driver.advanceWallClock(2 * PART_MS)
    expect(moved()).toEqual([])
  },
)

test("stock reserved for a cart is released a minute after the cart's extended end if no record reports the end of the cart", () => {
  const { ask, moved, endCart, driver } = world()
  ask('RECEIVE', 10)
  ask('RESERVE_PART', 2, { reservation_id: CART })
  endCart('EXTENDED', driver.now + 2 * HELD_MS)
  moved()
  driver.advanceWallClock(HELD_MS + PART_MS)
  expect(moved()).toEqual([])
  driver.advanceWallClock(2_000)
  expect(moved()).toEqual([['EXPIRE', 2, 10, 0]])
})

test('when many reservations end together, each tick expires at most 1,000 of them', () => {
  const count = 1_500
  const driver = testDriver(inventory, { commit: 'manual' })
  const pipe = (command_id: string, body: InventoryCommand) => {
    const envelope = { command_id, reply_to: 'driver', request_hash: '', deadline: driver.now + HELD_MS, body }
    driver.pipe(inventoryFlow.commands, PRODUCT, envelope)
  }
  const expired = () => driver.read(inventoryChanged).filter(({ value }) => value?.kind === 'EXPIRE').length
  pipe('stock', commandOf('RECEIVE', count))
  for (let index = 0; index < count; index++) pipe(`reserve-${index}`, commandOf('RESERVE', 1))
  driver.settle()
  driver.advanceWallClock(HELD_MS + 1_000)
  driver.settle()
  expect(expired()).toBe(1_000)
  driver.advanceWallClock(1_000)
  driver.settle()
  expect(expired()).toBe(500)
})

const STEPS: readonly Parameters<CommitFault>[0][] = ['encoded', 'produced', 'offsets-added', 'committed', 'written']

test.each(STEPS)('a crash after the commit step %s neither loses nor repeats anything', (step) => {
  const { ask, moved, endCart, driver, result, row } = world()
  ask('RECEIVE', 10)
  ask('RESERVE', 1, {}, 'single')
  ask('RESERVE_PART', 2, { reservation_id: CART })
  ask('RESERVE', 4, {}, 'expires')
  moved()
  const crashed = (work: () => void) => {
    driver.crashAt(step)
    expect(work).toThrow(DriverCrash)
    driver.restart({ wipeState: step === 'produced' })
    driver.settle()
  }
  const deduct = commandOf('DEDUCT', 1, { reservation_id: 'r-single' })
  crashed(() => result(PRODUCT, deduct, { id: 'deduct' }))
  expect(JSON.parse(result(PRODUCT, deduct, { id: 'deduct' })!.answer)).toMatchObject({ outcome: 'done' })
  crashed(() => endCart('DEDUCTED'))
  crashed(() => driver.advanceWallClock(HELD_MS + 1_000))
  driver.advanceWallClock(HELD_MS + 2_000)
  expect(moved()).toEqual([
    ['DEDUCT', 1, 3, 6],
    ['DEDUCT', 2, 3, 4],
    ['EXPIRE', 4, 7, 0],
  ])
  expect(row()).toMatchObject({ available: 7, reserved: 0, version: 7 })
})

test('a cart line without a warehouse is reserved where the most stock is available, and a cart reserves either all of its lines or none', () => {
  const { ask, driver } = world()
  const at = (warehouse_id: string | null, quantity: number) => ({
    variant_id: VARIANT,
    warehouse_id,
    quantity,
    offer: 'FOR_SALE' as const,
  })
  ask('RECEIVE', 3)
  ask('RECEIVE', 0, { lines: [at('west', 5)] })
  expect(ask('RESERVE_PART', 0, { reservation_id: 'c-2', lines: [at(null, 2), at('west', 4)] })).toEqual({
    outcome: 'reserved',
    lines: [
      { variant_id: VARIANT, warehouse_id: 'west', quantity: 4 },
      { variant_id: VARIANT, warehouse_id: EAST, quantity: 2 },
    ],
    ends_at: driver.now + PART_MS,
  })
  const refused = ask('RESERVE_PART', 0, { reservation_id: 'c-3', lines: [at('west', 1), at(null, 2)] })
  expect(refused).toEqual({ outcome: 'out_of_stock', variant_id: VARIANT, warehouse_id: null, available: 1 })
  expect(ask('RESERVE_PART', 0, { reservation_id: 'c-4', lines: [at('west', 1), at(EAST, 1)] })).toMatchObject({ outcome: 'reserved' })
})
