import type { Decision } from '../../../schemas/fraud/decision/policy.ts'
import { describeFault } from '../../../schemas/fraud/rules/faults.ts'
import type { Rule, RuleAction, RuleMode } from '../../../schemas/fraud/rules/rule.ts'
import { RuleTallies } from '../../../schemas/fraud/rules/tallies.ts'
import type { FraudVerdict } from '../../../schemas/fraud/types.ts'
import type { LoggedTransaction } from '../../../state/tables/fraud/logged.ts'
import { Cell } from './examples.ts'
import { type ReplayBasis, type Replayed, replay } from './replay.ts'

/** The label of a transaction. A transaction is unlabelled if its verdict is SUSPICIOUS or if it has no verdict. */
export type Label = 'fraud' | 'legitimate' | 'unlabelled'

export interface CountedCell {
  readonly count: number
  /** Ids of a few of the counted transactions. */
  readonly examples: readonly string[]
}

/** How well decisions of one kind agree with the labels. A value is null if its denominator is 0. */
export interface Quality {
  /** Share of the fraudulent transactions that would get a decision of this kind. */
  readonly recall: number | null
  /** Share of fraud among the labelled transactions that would get a decision of this kind. */
  readonly precision: number | null
  /** Share of the legitimate transactions that would get a decision of this kind. */
  readonly false_positive_rate: number | null
}

export interface DecisionCounts {
  readonly approve: number
  readonly review: number
  readonly block: number
  readonly requires_3ds: number
  /** Share of REVIEW among all decisions, 0 to 1. `block_rate` is the share of BLOCK. */
  readonly review_rate: number
  readonly block_rate: number
}

export interface RuleResult {
  readonly rule_id: string
  readonly action: RuleAction
  readonly mode: RuleMode
  readonly evaluated: number
  readonly matched: number
  /** Number of matches in which the rule had precedence over all other matching rules. */
  readonly decided: number
  /**
   * Number of matches among the transactions with the label `fraud`. `matched_legitimate` is the same for `legitimate`.
   */
  readonly matched_fraud: number
  readonly matched_legitimate: number
  readonly snoozed: number
  readonly failed: number
  readonly missing: number
  /**
   * How often each value was missing when an evaluation had no result, keyed by field name. `list:<name>` stands for a
   * list that does not exist, and `arithmetic` for a division by zero or an overflow.
   */
  readonly missing_by: Readonly<Record<string, number>>
}

/** The result of a replay. */
export interface ReplayResult {
  readonly transactions: number
  /** Number of transactions that the blocklist blocked. Rules were not evaluated for them, so they stay blocked. */
  readonly blocklisted: number
  /** Number of transactions that were originally decided under a policy version other than the replay's. */
  readonly other_policy: number
  readonly would_be: DecisionCounts
  readonly logged: DecisionCounts
  readonly confusion: readonly (CountedCell & { readonly decision: Decision; readonly label: Label })[]
  readonly quality: { readonly review_or_block: Quality; readonly block: Quality }
  /** Transactions whose decision would change, grouped by the logged and the new decision. */
  readonly changes: readonly (CountedCell & { readonly logged: Decision; readonly would_be: Decision })[]
  readonly changed: number
  /** Transactions for which only `requires_3ds` would change. */
  readonly changed_3ds: CountedCell
  readonly rules: readonly RuleResult[]
  /** Rules that were not evaluated, because this version of the software does not accept them. */
  readonly set_aside: readonly { readonly rule_id: string; readonly faults: readonly string[] }[]
}

const DECISIONS: readonly Decision[] = ['APPROVE', 'REVIEW', 'BLOCK']
const LABELS: readonly Label[] = ['fraud', 'legitimate', 'unlabelled']

function labelOf(verdict: FraudVerdict | null): Label {
  if (verdict === 'CONFIRMED_FRAUD') return 'fraud'
  return verdict === 'FALSE_POSITIVE' ? 'legitimate' : 'unlabelled'
}

interface Labelled {
  matched_fraud: number
  matched_legitimate: number
  decided: number
}

/**
 * Judges logged transactions again, one by one, and counts the results. The memory use does not depend on the number of
 * transactions.
 */
export class Replay {
  readonly #basis: ReplayBasis
  readonly #tallies: RuleTallies
  readonly #byRule = new Map<string, Labelled>()
  readonly #confusion = new Cells<Decision, Label>(DECISIONS, LABELS)
  readonly #changes = new Cells<Decision, Decision>(DECISIONS, DECISIONS)
  readonly #changed3ds = new Cell()
  #wouldBe3ds = 0
  #logged3ds = 0
  #blocklisted = 0
  #otherPolicy = 0

  constructor(basis: ReplayBasis) {
    this.#basis = basis
    this.#tallies = new RuleTallies(basis.ruleSet)
    for (const { rule } of basis.ruleSet.rules) this.#byRule.set(rule.rule_id, { matched_fraud: 0, matched_legitimate: 0, decided: 0 })
  }

  /** Judges one transaction again and counts the result. Only tests use the return value. */
  add(transaction: LoggedTransaction): Replayed {
    const replayed = replay(this.#basis, transaction, this.#tallies)
    const { outcome, verdict } = replayed
    const { transaction_id } = transaction.request
    const label = labelOf(transaction.verdict)
    this.#confusion.at(verdict.decision, label).add(transaction_id)
    this.#changes.at(transaction.decision, verdict.decision).add(transaction_id)
    if (transaction.decision === verdict.decision && transaction.requires_3ds !== verdict.requires_3ds) this.#changed3ds.add(transaction_id)
    this.#wouldBe3ds += Number(verdict.requires_3ds)
    this.#logged3ds += Number(transaction.requires_3ds)
    this.#otherPolicy += Number(transaction.policy_version !== this.#basis.policy.version)
    if (outcome === undefined) this.#blocklisted++
    else {
      this.#count(outcome.matched, label)
      this.#count(outcome.shadow, label)
      if (outcome.winner !== undefined) this.#byRule.get(outcome.winner.rule_id)!.decided++
    }
    return replayed
  }

  #count(rules: readonly Rule[], label: Label): void {
    if (label === 'unlabelled') return
    for (const { rule_id } of rules) this.#byRule.get(rule_id)![`matched_${label}`]++
  }

  result(): ReplayResult {
    const changes = DECISIONS.flatMap((logged) =>
      DECISIONS.filter((would_be) => would_be !== logged).map((would_be) => ({
        logged,
        would_be,
        ...this.#changes.read(logged, would_be),
      })),
    ).filter(({ count }) => count > 0)
    return {
      transactions: this.#changes.sum(DECISIONS, DECISIONS),
      blocklisted: this.#blocklisted,
      other_policy: this.#otherPolicy,
      would_be: countsOf((decision) => this.#changes.sum(DECISIONS, [decision]), this.#wouldBe3ds),
      logged: countsOf((decision) => this.#changes.sum([decision], DECISIONS), this.#logged3ds),
      confusion: DECISIONS.flatMap((decision) => LABELS.map((label) => ({ decision, label, ...this.#confusion.read(decision, label) }))),
      quality: { review_or_block: this.#quality(['REVIEW', 'BLOCK']), block: this.#quality(['BLOCK']) },
      changes,
      changed: changes.reduce((sum, { count }) => sum + count, 0),
      changed_3ds: { count: this.#changed3ds.count, examples: this.#changed3ds.examples },
      rules: this.#rules(),
      set_aside: this.#basis.ruleSet.broken.map(({ rule, faults }) => ({ rule_id: rule.rule_id, faults: faults.map(describeFault) })),
    }
  }

  #quality(met: readonly Decision[]): Quality {
    const of = (decisions: readonly Decision[], ...labels: Label[]) => this.#confusion.sum(decisions, labels)
    const fraudMet = of(met, 'fraud')
    return {
      recall: ratio(fraudMet, of(DECISIONS, 'fraud')),
      precision: ratio(fraudMet, of(met, 'fraud', 'legitimate')),
      false_positive_rate: ratio(of(met, 'legitimate'), of(DECISIONS, 'legitimate')),
    }
  }

  #rules(): RuleResult[] {
    const tallies = this.#tallies.read()
    return this.#basis.ruleSet.rules.map(({ rule, index }) => {
      const { evaluated, matched, snoozed, failed, missing, missing_by } = tallies[index]
      const counts = { evaluated, matched, ...this.#byRule.get(rule.rule_id)!, snoozed, failed, missing }
      return { rule_id: rule.rule_id, action: rule.action, mode: rule.mode, ...counts, missing_by: Object.fromEntries(missing_by) }
    })
  }
}

/** The cells of a table, with their counts and examples. */
class Cells<Row extends string, Column extends string> {
  readonly #cells: ReadonlyMap<string, Cell>

  constructor(rows: readonly Row[], columns: readonly Column[]) {
    this.#cells = new Map(rows.flatMap((row) => columns.map((column) => [`${row} ${column}`, new Cell()])))
  }

  at(row: Row, column: Column): Cell {
    return this.#cells.get(`${row} ${column}`)!
  }

  read(row: Row, column: Column): CountedCell {
    const { count, examples } = this.at(row, column)
    return { count, examples }
  }

  sum(rows: readonly Row[], columns: readonly Column[]): number {
    return rows.reduce((total, row) => total + columns.reduce((sum, column) => sum + this.at(row, column).count, 0), 0)
  }
}

function countsOf(count: (decision: Decision) => number, requires_3ds: number): DecisionCounts {
  const [approve, review, block] = DECISIONS.map(count)
  const all = approve + review + block
  return { approve, review, block, requires_3ds, review_rate: ratio(review, all) ?? 0, block_rate: ratio(block, all) ?? 0 }
}

function ratio(part: number, whole: number): number | null {
  return whole === 0 ? null : part / whole
}
