import { erasureTimes } from '../state/erasure.ts'
import type { PipelinesConfig } from './config.ts'

/**
 * Returns how long a worker keeps a topology's state after its partitions have moved to another worker, in ms. Nothing
 * erases values from such state, so state with erasable stores must be deleted in time.
 */
export function keepStateMsOf(config: Pick<PipelinesConfig, 'keepStateMs' | 'eraseWithinMs'>, isErasable: boolean): number {
  return isErasable ? Math.min(config.keepStateMs, erasureTimes(config.eraseWithinMs).movedMs) : config.keepStateMs
}
