import { expect, test } from 'vitest'
import { inventory } from '../../../../pipelines/catalog/inventory/topology.ts'
import { testDriver } from '../../../../pipelines/engine/testing.ts'
import { inventoryFlow } from '../../../../schemas/catalog/inventory/flow.ts'
import { inventoryChanged, inventoryDecisions } from '../../../../schemas/catalog/inventory/topics.ts'
import type { InventoryAction } from '../../../../schemas/catalog/types.ts'
import { countedState, type Work } from './counted-state.ts'

const PRODUCT = '7'
const HELD_MS = 900_000
const FEW = 200
const MANY = 2_000
const PER_COMMIT = 100
/** Upper bound for numbers of rows that do not depend on the number of reservations. */
const SOME = 10
/** Size of the cache, so small that every read and write reaches the state. */
const CACHE_BYTES = 1

/** Creates a stock row for many open reservations, and functions that measure the work of each decision. */
function crowdedRow() {
  const state = countedState()
  const driver = testDriver(inventory, { commit: 'manual', cacheBytes: CACHE_BYTES, openState: state.openState })
  let commands = 0

  /** @returns the id of the reservation that a RESERVE makes */
  function pipe(action: InventoryAction, quantity: number, reservation_id: string | null = null): string {
    const command_id = `c${String(++commands).padStart(6, '0')}`
    const lines = [{ variant_id: 7 * 256 + 1, warehouse_id: 'east', quantity, offer: 'FOR_SALE' as const }]
    const body = { action, lines, version: null, reservation_id, held_ms: HELD_MS }
    driver.pipe(inventoryFlow.commands, PRODUCT, { command_id, reply_to: 'driver', request_hash: '', deadline: driver.now + 30_000, body })
    return `r-${command_id}`
  }

  function inBatches(count: number, one: (index: number) => void): void {
    for (let index = 0; index < count; index++) {
      one(index)
      if (index % PER_COMMIT === PER_COMMIT - 1) driver.settle()
      // Spreads the ends of reservations, so that hardly any two reservations end in the same millisecond.
      driver.advanceWallClock(1)
    }
    driver.settle()
  }

  function open(count: number): string[] {
    const ids: string[] = []
    inBatches(count, () => void ids.push(pipe('RESERVE', 1)))
    return ids
  }

  /** Returns the reads and writes of a decision and its commit, including the number of bytes written to the state. */
  function workOf(...asked: Parameters<typeof pipe>): Work {
    state.take()
    pipe(...asked)
    driver.settle()
    return state.take()
  }

  pipe('RECEIVE', 1_000_000)
  driver.settle()
  return {
    driver,
    open,
    end: (ids: readonly string[]) => inBatches(ids.length, (index) => void pipe('DEDUCT', 1, ids[index])),
    workOf,
    takeWork: state.take,
  }
}

/** Returns the work of each kind of decision while `count` reservations are open. */
function workBeside(count: number): Record<string, Work> {
  const { open, workOf } = crowdedRow()
  const ids = open(count)
  return {
    reserve: workOf('RESERVE', 1),
    'deduct a named one': workOf('DEDUCT', 1, ids[10]),
    'release a named one': workOf('RELEASE', 1, ids[11]),
    'deduct the oldest': workOf('DEDUCT', 1),
    'release the oldest': workOf('RELEASE', 1),
    'more than is reserved': workOf('DEDUCT', 2 * count),
    receive: workOf('RECEIVE', 1),
  }
}

test('the number of open reservations does not affect how much a decision reads and writes', () => {
  const [few, many] = [workBeside(FEW), workBeside(MANY)]
  for (const [name, { writtenBytes, ...work }] of Object.entries(many)) {
    const { writtenBytes: bytesBesideFew, ...besideFew } = few[name]
    expect(work, name).toEqual(besideFew)
    // A few more bytes are allowed, because a row needs more bytes for larger numbers.
    expect(writtenBytes, name).toBeLessThan(bytesBesideFew + 20)
  }
})

test('after reservations were ended by their ids, only one command without an id scans over the ended reservations', () => {
  const { open, end, workOf } = crowdedRow()
  end(open(MANY).slice(2))
  open(3)
  workOf('DEDUCT', 2)
  expect(workOf('DEDUCT', 1).passed).toBeGreaterThan(MANY / 2)
  expect(workOf('DEDUCT', 1).passed).toBeLessThan(SOME)
  expect(workOf('RELEASE', 1).passed).toBeLessThan(SOME)
})

test('after a refused command, no later command scans over reservations that ended earlier, and no unchanged row is emitted', () => {
  const { driver, open, end, workOf } = crowdedRow()
  end(open(MANY))
  expect(workOf('DEDUCT', 1).passed).toBe(0)
  // The only open reservation belongs to a cart, so the topology has to scan all rows to find out that no other
  // reservation is open.
  workOf('RESERVE_PART', 1, 'c-1')
  driver.read(inventoryDecisions)
  expect(workOf('DEDUCT', 1).passed).toBeGreaterThan(MANY / 2)
  expect(workOf('DEDUCT', 1).passed).toBeLessThan(SOME)
  expect(driver.read(inventoryDecisions).map(({ value }) => value?.view)).toEqual([null, null])
  open(1)
  expect(workOf('DEDUCT', 1).passed).toBeLessThan(SOME)
  const [{ value }] = driver
    .read(inventoryDecisions)
    .filter((one) => one.value?.result != null)
    .slice(-1)
  expect(JSON.parse(value!.result!.answer)).toMatchObject({ outcome: 'done', row: { reserved: 1 } })
})

/** Returns the work of a tick in which `FEW` reservations expire while `others` reservations stay open. */
function workOfExpiry(others: number): Work {
  const { driver, open, takeWork } = crowdedRow()
  open(FEW)
  const after = 10_000
  driver.advanceWallClock(after)
  open(others)
  driver.advanceWallClock(HELD_MS - after - others)
  takeWork()
  driver.advanceWallClock(2_000)
  driver.settle()
  const expired = driver.read(inventoryChanged).filter(({ value }) => value?.kind === 'EXPIRE')
  expect(expired).toHaveLength(FEW)
  return takeWork()
}

test('the work of expiring reservations depends only on how many have ended, and not on how many are open', () => {
  const [few, many] = [workOfExpiry(FEW), workOfExpiry(MANY)]
  expect(many.writes).toBe(few.writes)
  // A small difference is allowed, because the sweep of remembered commands also reads some commands that opened the
  // reservations.
  expect(many.reads - few.reads).toBeLessThan(SOME)
})
