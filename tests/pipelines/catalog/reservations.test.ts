import { expect, test } from 'vitest'
import { reservations } from '../../../pipelines/catalog/reservations/topology.ts'
import { decisionDriver } from '../../../pipelines/engine/testing.ts'
import { reservationOutcomes } from '../../../schemas/catalog/inventory/topics.ts'
import { reservationFlow } from '../../../schemas/catalog/reservations/flow.ts'
import type { CartAction, CartCommand } from '../../../schemas/catalog/types.ts'

const CART = 'c-1'
const HELD_MS = 5_000
const PARTS = [7, 8].map((product_id) => ({ product_id, lines: [{ variant_id: product_id * 256 + 1, warehouse_id: 'east', quantity: 2 }] }))

function world() {
  const decider = decisionDriver(reservations, reservationFlow)
  const { driver } = decider
  const commandOf = (action: CartAction, more: Partial<CartCommand> = {}): CartCommand => ({
    action,
    parts: action === 'OPEN' ? PARTS : [],
    parts_end_at: action === 'OPEN' ? driver.now + HELD_MS + 60_000 : null,
    held_ms: HELD_MS,
    ...more,
  })
  return {
    ...decider,
    ask: (action: CartAction, more?: Partial<CartCommand>) => decider.ask(CART, commandOf(action, more)),
    outcomes: () => driver.read(reservationOutcomes).map(({ key, value }) => [key, value?.outcome]),
  }
}

test.each([
  ['CHECK_OUT', 'CHECKED_OUT', 'DEDUCTED'],
  ['RELEASE', 'RELEASED', 'RELEASED'],
] as const)('%s ends a cart once, for all of its products', (action, status, outcome) => {
  const { ask, outcomes, view, driver } = world()
  const opened = ask('OPEN')
  expect(opened).toMatchObject({ outcome: 'done', cart: { reservation_id: CART, status: 'OPEN', ends_at: driver.now + HELD_MS } })
  expect(outcomes()).toEqual([])
  expect(ask(action)).toMatchObject({ outcome: 'done', cart: { status, ended_at: driver.now } })
  expect(outcomes()).toEqual([
    ['7', outcome],
    ['8', outcome],
  ])
  expect(view(CART)).toMatchObject({ status })
  for (const again of ['CHECK_OUT', 'RELEASE', 'EXTEND'] as const) expect(ask(again)).toMatchObject({ outcome: 'ended' })
  driver.advanceWallClock(2 * HELD_MS)
  expect(outcomes()).toEqual([])
})

test('after the end of a cart, commands about it are refused; the cart expires a second after its end and is forgotten a day later', () => {
  const { ask, outcomes, view, driver } = world()
  ask('OPEN')
  driver.advanceWallClock(HELD_MS + 1)
  expect(ask('CHECK_OUT')).toMatchObject({ outcome: 'ended', cart: { status: 'OPEN' } })
  expect(outcomes()).toEqual([])
  driver.advanceWallClock(1_500)
  expect(outcomes()).toEqual([
    ['7', 'EXPIRED'],
    ['8', 'EXPIRED'],
  ])
  expect(view(CART)).toMatchObject({ status: 'EXPIRED' })
  driver.restart({ downMs: 25 * 3_600_000 })
  driver.advanceWallClock(1_000)
  expect(view(CART)).toBeUndefined()
  expect(ask('CHECK_OUT')).toEqual({ outcome: 'not_found' })
  expect(outcomes()).toEqual([])
})

test("a repeated OPEN returns the open cart until the cart's end, and afterwards reports that the cart has ended, even before it expires", () => {
  const { ask, driver } = world()
  const { cart } = ask('OPEN') as { readonly cart: object }
  driver.advanceWallClock(HELD_MS)
  expect(ask('OPEN')).toEqual({ outcome: 'done', cart })
  driver.advanceWallClock(1)
  expect(ask('OPEN')).toEqual({ outcome: 'ended', cart })
})

test('a cart can be extended only once, its new end counts from the time of the request, and the stock topology is notified', () => {
  const { ask, outcomes, driver } = world()
  ask('OPEN')
  driver.advanceWallClock(HELD_MS - 1_000)
  expect(ask('EXTEND')).toMatchObject({ outcome: 'done', cart: { ends_at: driver.now + HELD_MS, is_extended: true } })
  expect(outcomes()).toEqual([
    ['7', 'EXTENDED'],
    ['8', 'EXTENDED'],
  ])
  expect(ask('EXTEND')).toMatchObject({ outcome: 'extended_before' })
  driver.advanceWallClock(HELD_MS)
  expect(ask('CHECK_OUT')).toMatchObject({ outcome: 'done' })
})

test('a cart is not opened if its reservations would end too soon, even if the command that opens it is repeated', () => {
  const { ask, result, view, driver } = world()
  const late = { action: 'OPEN', parts: PARTS, parts_end_at: driver.now + HELD_MS + 44_999, held_ms: HELD_MS } as const
  const first = result(CART, { ...late, parts: [...PARTS] }, { id: 'late' })
  expect(JSON.parse(first!.answer)).toEqual({ outcome: 'parts_ended' })
  expect(view(CART)).toBeUndefined()
  expect(result(CART, { ...late, parts: [...PARTS] }, { id: 'late' })?.answer).toBe(first!.answer)
  expect(ask('OPEN', { parts_end_at: driver.now + HELD_MS + 45_000 })).toMatchObject({ outcome: 'done' })
})

test('commands about a cart that does not exist change nothing', () => {
  const { ask, outcomes } = world()
  for (const action of ['CHECK_OUT', 'RELEASE', 'EXTEND'] as const) expect(ask(action)).toEqual({ outcome: 'not_found' })
  expect(outcomes()).toEqual([])
})
