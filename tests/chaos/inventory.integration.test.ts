import { afterAll, beforeAll, test } from 'vitest'
import { type InventorySystem, inventorySystem } from '../api/catalog/inventory-system.ts'
import { AT_FIRST_TRY } from '../stack/index.ts'
import { PRODUCTS, VARIANTS_PER_PRODUCT } from './inventory/callers.ts'
import { APIS, drawPlan, type InventoryFaultKind } from './inventory/plan.ts'
import { keepInventoryLogs, playRound } from './inventory/round.ts'
import { playShortRound, SETUP_TIMEOUT_MS, say } from './rounds.ts'

/**
 * Time limit of the round. A round normally takes two minutes. One of them is spent waiting until the reservations of
 * carts that never opened have ended.
 */
const ROUND_TIMEOUT_MS = 420_000
const SEED = 1
const CALLERS = 12
const ACTIONS = 3
const RESERVATION_SECONDS = 3
const FAULTS: readonly InventoryFaultKind[] = ['worker-killed', 'api-killed', 'redis-emptied', 'kafka-killed']

let system: InventorySystem

beforeAll(async () => {
  const products = PRODUCTS.map((productId) => ({ productId, variants: VARIANTS_PER_PRODUCT }))
  system = await inventorySystem({ apiCount: APIS, reservationSeconds: RESERVATION_SECONDS, products })
}, SETUP_TIMEOUT_MS)

afterAll(() => system?.folder.finish(), SETUP_TIMEOUT_MS)

test('while the worker, an API and the broker are killed and Redis is emptied, stock is never oversold and agrees with the log', {
  ...AT_FIRST_TRY,
  timeout: ROUND_TIMEOUT_MS,
}, async () => {
  const plan = drawPlan(SEED, { callers: CALLERS, actions: ACTIONS, faults: FAULTS })
  const rounds = {
    name: 'inventory',
    play: () => playRound(system, plan, [], say),
    keepLogs: (target: string) => keepInventoryLogs(system, target),
  }
  await playShortRound(rounds, plan)
})
