import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type InventorySystem, inventorySystem } from '../api/catalog/inventory-system.ts'
import { chaosConfig, chaosHome } from './config.ts'
import { PRODUCTS, VARIANTS_PER_PRODUCT } from './inventory/callers.ts'
import { APIS, drawPlan, INVENTORY_FAULTS, type InventoryFaultKind } from './inventory/plan.ts'
import { playRound } from './inventory/round.ts'
import type { Outage } from './inventory/verdict.ts'
import { keepEvidence } from './judge.ts'
import { keepLines } from './keep-logs.ts'

const { seed, rounds, parts } = chaosConfig()
const SETUP_TIMEOUT_MS = 240_000
const ROUND_TIMEOUT_MS = 420_000
const CALLERS = 20
const ACTIONS = 6
/** Lifetime of reservations. It is short, so that many reservations expire. */
const RESERVATION_SECONDS = 3

const unknown = (parts ?? []).filter((part) => !INVENTORY_FAULTS.includes(part as InventoryFaultKind))
if (unknown.length > 0) throw new Error(`CHAOS_PARTS has ${unknown.join(', ')}; choose from ${INVENTORY_FAULTS.join(', ')}`)
const faults = (parts as readonly InventoryFaultKind[] | undefined) ?? INVENTORY_FAULTS

let system: InventorySystem

beforeAll(async () => {
  process.stderr.write(`chaos: CHAOS_SEED=${seed} CHAOS_ROUNDS=${rounds}\n`)
  const products = PRODUCTS.map((productId) => ({ productId, variants: VARIANTS_PER_PRODUCT }))
  system = await inventorySystem({ apiCount: APIS, reservationSeconds: RESERVATION_SECONDS, products })
}, SETUP_TIMEOUT_MS)

afterAll(() => system?.folder.finish(), SETUP_TIMEOUT_MS)

const say = (text: string) => process.stderr.write(`chaos: ${text}\n`)

test(
  `in ${rounds} rounds of kills, stops and an emptied Redis, stock is never oversold and follows from the log`,
  async () => {
    const failed: Record<string, readonly string[]> = {}
    let outages: readonly Outage[] = []
    for (let round = 0; round < rounds; round++) {
      const plan = drawPlan(seed + round, { callers: CALLERS, actions: ACTIONS, faults })
      say(`seed ${plan.seed}: ${plan.faults.map(({ kind, overlaps }) => (overlaps ? `+${kind}` : kind)).join(', ')}`)
      const result = await playRound(system, plan, outages, say).catch(async (error: Error) => {
        await keep(plan.seed)
        throw error
      })
      outages = result.evidence.outages
      say(`seed ${plan.seed}: ${result.faults.length} faults; ${result.summary}`)
      if (result.faults.length === 0) continue
      keepEvidence(join(await keep(plan.seed), 'evidence.json'), result, plan)
      failed[`seed ${plan.seed}`] = result.faults
    }
    expect(failed).toEqual({})
  },
  rounds * ROUND_TIMEOUT_MS,
)

async function keep(failed: number): Promise<string> {
  const { worker, apis, folder } = system
  const processes = { worker, ...Object.fromEntries(apis.map((api, index) => [`api${index}`, api])) }
  const kept = await keepLines(folder.path, processes, join(chaosHome(), `inventory-${failed}`))
  say(`logs: ${kept}`)
  return kept
}
