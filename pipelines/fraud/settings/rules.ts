import { isDeepStrictEqual } from 'node:util'
import type { FraudSettingsAnswer } from '../../../schemas/fraud/settings/flow.ts'
import { initialRuleSet } from '../../../schemas/fraud/settings/initial.ts'
import { KEPT_VERSIONS } from '../../../schemas/fraud/settings/limits.ts'
import { exceededRuleLimit } from '../../../schemas/fraud/settings/rule-limits.ts'
import type { FraudRule, FraudRuleSet, FraudSettingsCommand } from '../../../schemas/fraud/types.ts'

/** A new version of the rule set, or the reason why there is none. */
export type RulesDecision =
  | { readonly next: FraudRuleSet; readonly rule: FraudRule | null }
  /** The decision about a command that would change nothing. */
  | { readonly unchanged: FraudRuleSet; readonly rule: FraudRule | null }
  | { readonly refused: FraudSettingsAnswer }

/**
 * Decides a command about the rules.
 * @param stored undefined until the first change; until then the seeded rules apply
 * @param restorable returns an earlier version of the rule set; undefined if that version is no longer kept
 */
export function decideRules(
  stored: FraudRuleSet | undefined,
  command: FraudSettingsCommand,
  now: number,
  restorable: (version: number) => FraudRuleSet | undefined,
): RulesDecision {
  const current = stored ?? initialRuleSet()
  const ruleId = command.rule_id
  const known = current.rules.find(({ rule_id }) => rule_id === ruleId)

  function replaced(fields: FraudRule, before: FraudRule): RulesDecision {
    const rule = { ...fields, updated_at: changedAt(now, before) }
    return nextVersion(current, current.rules.map((one) => (one === known ? rule : one)), rule, command, now) // biome-ignore format: one call
  }

  switch (command.action) {
    case 'create_rule': {
      if (known !== undefined) return { refused: { outcome: 'exists' } }
      const rule = { ...command.rule!, created_at: now, updated_at: now }
      return nextVersion(current, [...current.rules, rule], rule, command, now)
    }
    case 'replace_rule': {
      if (known === undefined) return { refused: { outcome: 'rule_not_found' } }
      if (isOtherVersion(known, command)) return { refused: { outcome: 'rule_changed', rule: known } }
      const given = command.rule!
      // If the command names no author, the rule keeps its previous author.
      const created_by = given.created_by === '' ? known.created_by : given.created_by
      return replaced({ ...given, created_by, created_at: known.created_at }, known)
    }
    case 'disable_rule':
      if (known === undefined) return { refused: { outcome: 'rule_not_found' } }
      if (!known.enabled) return { unchanged: current, rule: known }
      return replaced({ ...known, enabled: false }, known)
    case 'shadow_rule':
      if (known === undefined) return { refused: { outcome: 'rule_not_found' } }
      if (known.mode === 'shadow') return { unchanged: current, rule: known }
      if (isOtherVersion(known, command)) return { refused: { outcome: 'rule_changed', rule: known } }
      return replaced({ ...known, mode: 'shadow' }, known)
    case 'remove_rule': {
      if (known === undefined) return { refused: { outcome: 'rule_not_found' } }
      const others = current.rules.filter((one) => one !== known)
      return nextVersion(current, others, known, command, now)
    }
    case 'roll_back_rules': {
      const version = command.version!
      const isKept = current.history.some((one) => one.version === version)
      const target = version === current.version ? current : isKept ? restorable(version) : undefined
      if (target === undefined) return { refused: { outcome: 'version_not_found' } }
      return nextVersion(current, restored(current.rules, target.rules, now), null, command, now)
    }
    default:
      throw new Error(`${command.action} is not a command about rules`)
  }
}

/**
 * Returns the time of a change. This time serves as the version of the rule, so it is always later than the time of the
 * previous change.
 */
function changedAt(now: number, { updated_at }: FraudRule): number {
  return Math.max(now, updated_at + 1)
}

/** Returns whether the command expects a version that is not the rule's current version. */
function isOtherVersion({ updated_at }: FraudRule, { version }: FraudSettingsCommand): boolean {
  return version !== null && version !== updated_at
}

function nextVersion(
  current: FraudRuleSet,
  rules: FraudRule[],
  rule: FraudRule | null,
  { actor, action }: FraudSettingsCommand,
  now: number,
): RulesDecision {
  const limit = exceededRuleLimit(current.rules, rules, now)
  if (limit !== undefined) return { refused: { outcome: 'limit', limit } }
  const version = current.version + 1
  const entry = { version, changed_by: actor, at: now, action, rule_id: rule?.rule_id ?? null, rules: rules.length }
  return { next: { version, rules, history: [entry, ...current.history].slice(0, KEPT_VERSIONS) }, rule }
}

/**
 * Returns the rules of an earlier version. A rule that differs from the current version gets the current time as its
 * `updated_at`, because the roll-back is the rule's most recent change.
 */
function restored(current: readonly FraudRule[], target: readonly FraudRule[], now: number): FraudRule[] {
  const known = new Map(current.map((rule) => [rule.rule_id, rule]))
  return target.map((rule) => {
    const before = known.get(rule.rule_id)
    return before !== undefined && isDeepStrictEqual({ ...before, updated_at: rule.updated_at }, rule)
      ? before
      : { ...rule, updated_at: changedAt(now, before ?? rule) }
  })
}
