import { answered } from './answered.ts'
import type { Evidence } from './evidence.ts'
import { features } from './features.ts'
import { items } from './items.ts'
import { lists } from './lists.ts'
import { signals } from './signals.ts'
import { stored } from './stored.ts'
import { trending } from './trending.ts'

/** Returns all deviations of a round from the results that its calls and logs require. */
export function faultsOf(evidence: Evidence): string[] {
  const rules = [answered, lists, stored, features, signals, trending, items]
  return rules.flatMap((rule) => rule(evidence))
}
