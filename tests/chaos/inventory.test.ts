import { afterAll, beforeAll, test } from 'vitest'
import { type InventorySystem, inventorySystem } from '../api/catalog/inventory-system.ts'
import { PRODUCTS, VARIANTS_PER_PRODUCT } from './inventory/callers.ts'
import { APIS, drawPlan, INVENTORY_FAULTS } from './inventory/plan.ts'
import { keepInventoryLogs, playRound } from './inventory/round.ts'
import type { Outage } from './inventory/verdict.ts'
import { announce, chosenFaults, playRounds, SETUP_TIMEOUT_MS, say, settings } from './rounds.ts'

const { rounds } = settings
const ROUND_TIMEOUT_MS = 420_000
const CALLERS = 20
const ACTIONS = 6
/** Lifetime of reservations. It is short, so that many reservations expire. */
const RESERVATION_SECONDS = 3

const faults = chosenFaults(INVENTORY_FAULTS)

let system: InventorySystem

beforeAll(async () => {
  announce()
  const products = PRODUCTS.map((productId) => ({ productId, variants: VARIANTS_PER_PRODUCT }))
  system = await inventorySystem({ apiCount: APIS, reservationSeconds: RESERVATION_SECONDS, products })
}, SETUP_TIMEOUT_MS)

afterAll(() => system?.folder.finish(), SETUP_TIMEOUT_MS)

test(
  `in ${rounds} rounds of kills, stops and an emptied Redis, stock is never oversold and agrees with the log`,
  () => {
    let outages: readonly Outage[] = []
    return playRounds((seed) => drawPlan(seed, { callers: CALLERS, actions: ACTIONS, faults }), {
      name: 'inventory',
      async play(plan) {
        const result = await playRound(system, plan, outages, say)
        outages = result.evidence.outages
        return result
      },
      keepLogs: (target) => keepInventoryLogs(system, target),
    })
  },
  rounds * ROUND_TIMEOUT_MS,
)
