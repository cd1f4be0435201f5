import { answered } from './answered.ts'
import { decided } from './decided.ts'
import { enforced } from './enforced.ts'
import type { Evidence } from './evidence.ts'
import { reviewed } from './reviewed.ts'
import { stored } from './stored.ts'

/** Returns all deviations of a round from the results that its calls and logs require. */
export function faultsOf(evidence: Evidence): string[] {
  return [...answered(evidence), ...enforced(evidence), ...decided(evidence), ...stored(evidence), ...reviewed(evidence)]
}
