import type { Facts } from '../../../schemas/fraud/rules/facts.ts'

/** Another rule engine that has loaded the same rules. */
export interface PeerEngine {
  /** Name and version of the engine. */
  readonly name: string
  /** Returns the ids of the rules that match, in any order. */
  matches(facts: Facts): Promise<readonly string[]>
}
