import type { Facts } from '../../../schemas/fraud/rules/facts.ts'

/** A rule engine in the comparison, with the rules loaded. The comparison includes the engine of Millrace. */
export interface PeerEngine {
  /** Name of the engine and, except for Millrace, its version. */
  readonly name: string
  /** Returns the ids of the rules that match, in any order. */
  matches(facts: Facts): Promise<readonly string[]>
}
