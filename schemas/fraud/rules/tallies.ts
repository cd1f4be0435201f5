import type { Condition } from './compile.ts'
import type { Facts, Lists } from './facts.ts'
import type { RuleMode } from './rule.ts'
import type { CompiledRule, RuleSet } from './rule-set.ts'

/** Counts of a rule's results since the counters were started. */
export interface RuleTally {
  readonly rule_id: string
  readonly mode: RuleMode
  /** Evaluations, failed ones included. */
  readonly evaluated: number
  readonly matched: number
  /** Matches that a snooze suppressed; `matched` does not include them. */
  readonly snoozed: number
  /** Evaluations that threw. They count neither as matched nor as missing. */
  readonly failed: number
  /** Number of times that a shadow rule was skipped because the time limit of shadow rules was reached. */
  readonly skipped: number
  /** Evaluations whose result was missing. */
  readonly missing: number
  /**
   * Number of times that each value was absent when the result was missing, keyed by field name. `list:<name>` is a
   * list that does not exist, and `arithmetic` is a division by zero or an overflow. One evaluation may increase
   * several of these numbers.
   */
  readonly missing_by: ReadonlyMap<string, number>
}

const ARITHMETIC = 'arithmetic'
const listCause = (list: string) => `list:${list}`

class Counters {
  matched = 0
  snoozed = 0
  failed = 0
  skipped = 0
  missing = 0
  /** Counts of the causes of missing results: first the needed fields, then the needed lists, then `arithmetic`. */
  readonly causes: Float64Array

  constructor({ needs, neededLists }: Condition) {
    this.causes = new Float64Array(needs.length + neededLists.length + 1)
  }
}

/** Counts the results of the rules of one set, so that operators notice a rule that never matches. */
export class RuleTallies {
  readonly #ruleSet: RuleSet
  readonly #counters: readonly Counters[]
  /**
   * Number of evaluations of each rule. Every transaction increments nearly all of these numbers, so they are next to
   * each other in one array instead of in the `Counters` of each rule.
   */
  readonly #evaluated: Float64Array

  constructor(ruleSet: RuleSet) {
    this.#ruleSet = ruleSet
    this.#counters = ruleSet.rules.map(({ condition }) => new Counters(condition))
    this.#evaluated = new Float64Array(ruleSet.rules.length)
  }

  /**
   * Counts an evaluation of a rule.
   * @param index the index of the compiled rule
   */
  evaluated(index: number): void {
    this.#evaluated[index]++
  }

  matched({ index }: CompiledRule): void {
    this.#counters[index].matched++
  }

  snoozed({ index }: CompiledRule): void {
    this.#counters[index].snoozed++
  }

  failed({ index }: CompiledRule): void {
    this.#counters[index].failed++
  }

  skipped({ index }: CompiledRule): void {
    this.#counters[index].skipped++
  }

  /** Counts a missing result, and the absent values that caused it. */
  missing({ index, condition: { needs, neededLists } }: CompiledRule, facts: Facts, lists: Lists): void {
    const counters = this.#counters[index]
    const { causes } = counters
    counters.missing++
    let isExplained = false
    for (let position = 0; position < needs.length; position++) {
      if (facts[needs[position].slot] !== undefined) continue
      causes[position]++
      isExplained = true
    }
    for (let position = 0; position < neededLists.length; position++) {
      if (lists.has(neededLists[position])) continue
      causes[needs.length + position]++
      isExplained = true
    }
    if (!isExplained) causes[causes.length - 1]++
  }

  /** Returns a copy of all counts. */
  read(): RuleTally[] {
    return this.#ruleSet.rules.map(({ rule, condition, index }) => {
      const { causes, ...counts } = this.#counters[index]
      const names = [...condition.needs.map(({ name }) => name), ...condition.neededLists.map(listCause), ARITHMETIC]
      const missing_by = new Map(names.map((name, position) => [name, causes[position]] as const).filter(([, count]) => count > 0))
      return { rule_id: rule.rule_id, mode: rule.mode, evaluated: this.#evaluated[index], ...counts, missing_by }
    })
  }
}
