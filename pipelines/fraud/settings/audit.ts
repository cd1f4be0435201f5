import { initialModels, initialRuleSet } from '../../../schemas/fraud/settings/initial.ts'
import { MODELS_KEY, RULES_KEY } from '../../../schemas/fraud/settings/keys.ts'
import type { FraudRule, FraudRuleSet, FraudSetting, FraudSettingsChange, FraudSettingsCommand } from '../../../schemas/fraud/types.ts'

/** Who changes a setting (a person, or the service itself), and the kind of change. */
export interface Author {
  readonly actor: string
  readonly action: string
}

/** Returns the author of the change that a command requests. A forced promotion has an action of its own. */
export function authorOf({ actor, action, force }: Pick<FraudSettingsCommand, 'actor' | 'action' | 'force'>): Author {
  return { actor, action: action === 'promote_challenger' && force ? 'force_promote_challenger' : action }
}

/**
 * Returns the audit record of a change.
 * @param now epoch ms
 */
export function auditOf(
  key: string,
  before: FraudSetting | undefined,
  after: FraudSetting | undefined,
  { actor, action }: Author,
  now: number,
): FraudSettingsChange {
  const change = { subject: key, action, actor, at: now, version: null }
  if (key === RULES_KEY) return { ...change, ...rulesChange(before?.rules ?? initialRuleSet(), after!.rules!) }
  if (key === MODELS_KEY) {
    const [was, is] = [before?.models ?? initialModels(), after!.models!]
    const version = is.champion.policy.version
    return { ...change, version, before: text(shownModels(was)), after: text(shownModels(is)) }
  }
  return { ...change, before: text(shown(before)), after: text(shown(after)) }
}

/** Returns the differences between two versions: one rule, or all rules that a roll-back has changed. */
function rulesChange(
  before: FraudRuleSet,
  after: FraudRuleSet,
): Pick<FraudSettingsChange, 'version' | 'before' | 'after'> & { subject: string } {
  const { version } = after
  const ruleId = after.history[0].rule_id
  const [was, is] = [differing(before.rules, after.rules), differing(after.rules, before.rules)]
  if (ruleId !== null) return { subject: `rule:${ruleId}`, version, before: text(was[0]), after: text(is[0]) }
  const of = (set: FraudRuleSet, rules: readonly FraudRule[]) => text({ version: set.version, rules })
  return { subject: RULES_KEY, version, before: of(before, was), after: of(after, is) }
}

/** Returns the rules of one set that are missing from the other set or differ there. */
function differing(rules: readonly FraudRule[], others: readonly FraudRule[]): FraudRule[] {
  const known = new Map(others.map((rule) => [rule.rule_id, JSON.stringify(rule)]))
  return rules.filter((rule) => known.get(rule.rule_id) !== JSON.stringify(rule))
}

function shown(setting: FraudSetting | undefined): unknown {
  return setting?.list ?? setting?.snooze ?? undefined
}

/**
 * Returns the models for an audit record. Leaves out earlier champions, because their changes have audit records of
 * their own.
 */
function shownModels({ champion, challenger }: NonNullable<FraudSetting['models']>): unknown {
  return { champion, challenger }
}

function text(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value)
}
