import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFailed, test } from 'vitest'
import { type InventorySystem, inventorySystem } from '../api/catalog/inventory-system.ts'
import { AT_FIRST_TRY } from '../stack/index.ts'
import { chaosHome } from './config.ts'
import { PRODUCTS, VARIANTS_PER_PRODUCT } from './inventory/callers.ts'
import { APIS, drawPlan, type InventoryFaultKind } from './inventory/plan.ts'
import { playRound } from './inventory/round.ts'
import { keepEvidence } from './judge.ts'
import { keepLines } from './keep-logs.ts'

const SETUP_TIMEOUT_MS = 240_000
/**
 * Time limit of the round. The round normally takes two minutes, because reservations of carts that never opened end
 * after one minute.
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

test('while worker, API, Redis and broker are killed or emptied, stock is never oversold and follows from the log', {
  ...AT_FIRST_TRY,
  timeout: ROUND_TIMEOUT_MS,
}, async () => {
  const folder = join(chaosHome(), `inventory-short-${SEED}`)
  onTestFailed(async () => {
    const processes = { worker: system.worker, ...Object.fromEntries(system.apis.map((api, index) => [`api${index}`, api])) }
    process.stderr.write(`chaos: logs: ${await keepLines(system.folder.path, processes, join(folder, 'logs'))}\n`)
  })
  const plan = drawPlan(SEED, { callers: CALLERS, actions: ACTIONS, faults: FAULTS })
  const say = (text: string) => process.stderr.write(`chaos: ${text}\n`)
  const result = await playRound(system, plan, [], say)
  say(result.summary)
  if (result.faults.length > 0) keepEvidence(join(folder, 'evidence.json'), result, plan)
  expect(result.faults).toEqual([])
})
