import type { Evidence } from './evidence.ts'
import { features } from './features.ts'

/** Returns everything in which a round differs from what its calls and logs require. */
export function faultsOf(evidence: Evidence): string[] {
  return [...features(evidence)]
}
