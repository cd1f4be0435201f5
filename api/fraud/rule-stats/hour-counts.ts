import type { RuleTallies, RuleTally } from '../../../schemas/fraud/rules/tallies.ts'
import type { FraudRuleTallies, FraudRuleTally } from '../../../schemas/fraud/types.ts'

const HOUR_MS = 3_600_000
/**
 * Maximum number of rules per record. Even if each rule has a condition with a hundred fields, the record stays far
 * below Kafka's size limit.
 */
const RULES_PER_RECORD = 100
/**
 * Maximum number of rule sets whose tallies are read: the current rule set and its predecessors. Predecessors are
 * included, because a payment may be recorded after the rule set that evaluated it has been replaced.
 */
const MOST_KNOWN = 3

type Counts = Omit<FraudRuleTally, 'rule_id' | 'mode' | 'missing_by'>

interface Entry {
  readonly counts: Counts
  readonly missingBy: Map<string, number>
  hasChanged: boolean
}

/** The tallies of a rule set, and the values that they had at the last reading. */
interface Known {
  readonly tallies: RuleTallies
  before: ReadonlyMap<string, RuleTally>
}

/**
 * Counts the evaluations of rules in a process since the beginning of the hour. Each record contains the complete
 * counts of its rules for the hour so far, and replaces the counts in earlier records. A repeated record therefore does
 * no harm, and the next record with the same rules makes up for a lost one.
 */
export class HourCounts {
  readonly #newNode: () => string
  #node: string
  #hour: number
  /** The rule sets that were added last. Their tallies are still read. */
  #known: Known[] = []
  /** The tallies of all rule sets that were ever added. */
  readonly #begun = new WeakSet<RuleTallies>()
  #entries = new Map<string, Entry>()

  /** @param newNode returns a name that no earlier record has */
  constructor(newNode: () => string, now: number) {
    this.#newNode = newNode
    this.#node = newNode()
    this.#hour = hourOf(now)
  }

  /**
   * Begins to read the given tallies. Later calls with the same tallies do nothing. Every rule set has its own tallies.
   * The first call for a rule set may follow a call for a newer rule set, because payments are recorded a while after
   * their rules were evaluated. The tallies of a rule set are therefore read until several newer rule sets have
   * replaced it.
   */
  evaluated(tallies: RuleTallies): void {
    if (this.#begun.has(tallies)) return
    this.#look()
    this.#begun.add(tallies)
    this.#known = [...this.#known, { tallies, before: new Map() }].slice(-MOST_KNOWN)
  }

  /** Counts a match in which the rule had precedence. */
  decided(ruleId: string): void {
    const { counts } = this.#entry(ruleId, 'live')
    counts.decided++
  }

  /** Returns whether the hour of these counts is over. */
  isOver(now: number): boolean {
    return hourOf(now) !== this.#hour
  }

  /**
   * Returns records with the counts of all rules whose counts have changed since the last call. Then begins a new hour
   * if the hour of these counts is over.
   */
  take(now: number): FraudRuleTallies[] {
    this.#look()
    const rules: FraudRuleTally[] = []
    for (const [key, entry] of this.#entries) {
      if (!entry.hasChanged) continue
      entry.hasChanged = false
      const [mode, rule_id] = splitKey(key)
      rules.push({ rule_id, mode, ...entry.counts, missing_by: Object.fromEntries(entry.missingBy) })
    }
    const records: FraudRuleTallies[] = []
    for (let at = 0; at < rules.length; at += RULES_PER_RECORD) {
      records.push({ node: this.#node, hour: this.#hour, rules: rules.slice(at, at + RULES_PER_RECORD) })
    }
    if (this.isOver(now)) {
      // If the clock was set back, the earlier hour may already have counts. Under a new name, the counts that follow
      // are added to them instead of replacing them.
      if (hourOf(now) < this.#hour) this.#node = this.#newNode()
      this.#hour = hourOf(now)
      this.#entries = new Map()
    }
    return records
  }

  /** Adds the increase of the tallies since the last reading. */
  #look(): void {
    for (const known of this.#known) {
      const after = new Map(known.tallies.read().map((tally) => [tally.rule_id, tally]))
      for (const [ruleId, tally] of after) this.#add(tally, known.before.get(ruleId))
      known.before = after
    }
  }

  #add(tally: RuleTally, before: RuleTally | undefined): void {
    if (tally.evaluated === (before?.evaluated ?? 0) && tally.skipped === (before?.skipped ?? 0)) return
    const { counts, missingBy } = this.#entry(tally.rule_id, tally.mode)
    for (const name of ['evaluated', 'matched', 'snoozed', 'failed', 'skipped', 'missing'] as const) {
      counts[name] += tally[name] - (before?.[name] ?? 0)
    }
    for (const [cause, count] of tally.missing_by) {
      const more = count - (before?.missing_by.get(cause) ?? 0)
      if (more > 0) missingBy.set(cause, (missingBy.get(cause) ?? 0) + more)
    }
  }

  /** Returns the entry of a rule, and marks it as changed. */
  #entry(ruleId: string, mode: string): Entry {
    const key = `${mode} ${ruleId}`
    let entry = this.#entries.get(key)
    if (entry === undefined) {
      const counts = { evaluated: 0, matched: 0, decided: 0, snoozed: 0, failed: 0, skipped: 0, missing: 0 }
      entry = { counts, missingBy: new Map(), hasChanged: true }
      this.#entries.set(key, entry)
    }
    entry.hasChanged = true
    return entry
  }
}

function hourOf(now: number): number {
  return Math.floor(now / HOUR_MS) * HOUR_MS
}

function splitKey(key: string): [mode: string, ruleId: string] {
  const space = key.indexOf(' ')
  return [key.slice(0, space), key.slice(space + 1)]
}
