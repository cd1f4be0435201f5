import { seededRandom } from '../../../tools/random/random.ts'
import { drawFaults } from '../draw-faults.ts'
import type { PlannedFault } from '../in-turn.ts'

/** Number of API processes. */
export const APIS = 2

export const INVENTORY_FAULTS = [
  'api-killed',
  'api-stopped',
  'worker-killed',
  'worker-stopped',
  'redis-killed',
  'redis-stopped',
  'redis-emptied',
  'kafka-killed',
  'kafka-stopped',
] as const

export type InventoryFaultKind = (typeof INVENTORY_FAULTS)[number]

export interface Plan {
  readonly seed: number
  readonly callers: number
  /** Number of actions per caller. */
  readonly actions: number
  readonly faults: readonly PlannedFault<InventoryFaultKind>[]
}

/** Draws a round. The same seed and options give the same round. */
export function drawPlan(seed: number, options: { callers: number; actions: number; faults: readonly InventoryFaultKind[] }): Plan {
  const faults = drawFaults(seededRandom(seed), options.faults, APIS, (kind) => kind === 'worker-stopped')
  return { ...options, seed, faults }
}
