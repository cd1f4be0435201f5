import { compileCondition } from '../../../schemas/fraud/rules/compile.ts'
import type { FraudSettingsAnswer, ListSummary } from '../../../schemas/fraud/settings/flow.ts'
import {
  hoursMs,
  jsonBytes,
  MAX_LIST_BYTES,
  MAX_LIST_VALUES,
  MAX_LISTS,
  MAX_SNOOZE_HOURS,
  MAX_SNOOZES,
} from '../../../schemas/fraud/settings/limits.ts'
import type { FraudList, FraudRuleSet, FraudSetting, FraudSettingsCommand, FraudSettingsCounts } from '../../../schemas/fraud/types.ts'
import type { CommandFacts, Decided } from '../../engine/index.ts'
import { decideModels } from './models.ts'
import { decideRules } from './rules.ts'

/** What a decision depends on, apart from the setting to be changed. */
export interface OtherSettings {
  readonly counts: FraudSettingsCounts
  /** The current rules. */
  readonly rules: FraudRuleSet
  /** Returns a stored version of the rule set; undefined if the version is no longer kept. */
  version(version: number): FraudRuleSet | undefined
}

type SettingsDecision = Decided<FraudSetting, FraudSettingsAnswer>

export const NO_SETTING: FraudSetting = { rules: null, list: null, snooze: null, models: null, counts: null }

/** Decides a command about one setting. Each change gets the next revision. */
export function decideSetting(
  stored: FraudSetting | undefined,
  command: FraudSettingsCommand,
  { now }: Pick<CommandFacts, 'now'>,
  others: OtherSettings,
): SettingsDecision {
  const { counts } = others
  const revision = counts.revision + 1

  function about(rules: ReturnType<typeof decideRules>): SettingsDecision {
    if ('refused' in rules) return { answer: rules.refused }
    const { rule } = rules
    if ('unchanged' in rules) {
      return { answer: { outcome: 'rules', rule, ruleset_version: rules.unchanged.version, revision: counts.revision } }
    }
    const { next } = rules
    return { answer: { outcome: 'rules', rule, ruleset_version: next.version, revision }, state: { ...NO_SETTING, rules: next } }
  }

  function withList(created_at: number): SettingsDecision {
    const values = [...new Set(command.values!)]
    if (values.length > MAX_LIST_VALUES) return limited(`A list may have at most ${MAX_LIST_VALUES} values.`)
    if (jsonBytes(values) > MAX_LIST_BYTES) return limited(`A list may have at most ${MAX_LIST_BYTES} bytes.`)
    const list: FraudList = { name: command.list!, values, updated_by: command.actor, created_at, updated_at: now }
    return { answer: { outcome: 'list', list: summaryOf(list), revision }, state: { ...NO_SETTING, list } }
  }

  /** Removes a list, unless enabled rules read it. Without the list, these rules could silently cease to match. */
  function removed({ name }: FraudList): SettingsDecision {
    const rule_ids = readersOf(name, others.rules.rules)
    if (rule_ids.length > 0) return { answer: { outcome: 'in_use', rule_ids } }
    return { answer: { outcome: 'removed', revision }, state: null }
  }

  switch (command.action) {
    case 'create_list':
      if (stored !== undefined) return { answer: { outcome: 'exists' } }
      if (counts.lists >= MAX_LISTS) return limited(`There may be at most ${MAX_LISTS} lists.`)
      return withList(now)
    case 'replace_list':
      return stored?.list == null ? NOT_FOUND : withList(stored.list.created_at)
    case 'delete_list':
      return stored?.list == null ? NOT_FOUND : removed(stored.list)
    case 'end_snooze': {
      const snooze = stored?.snooze
      // A snooze that has ended by itself may still be stored, until the next tick removes it.
      const isOpen = snooze != null && snooze.rule_id === command.rule_id && now < snooze.until
      return isOpen ? { answer: { outcome: 'removed', revision }, state: null } : NOT_FOUND
    }
    case 'snooze_rule': {
      const asked = command.snooze!
      const hours = command.hours!
      const rule = others.rules.rules.find(({ rule_id }) => rule_id === asked.rule_id)
      if (rule === undefined) return { answer: { outcome: 'rule_not_found' } }
      if (hours > MAX_SNOOZE_HOURS) return limited(`A snooze may last at most ${MAX_SNOOZE_HOURS} hours.`)
      if (stored === undefined && counts.snoozes >= MAX_SNOOZES) return limited(`There may be at most ${MAX_SNOOZES} snoozes.`)
      // A snooze has no effect if it is older than its rule, so the snooze begins no earlier than the rule even if the
      // clock was set back.
      const created_at = Math.max(now, rule.created_at)
      const snooze = { ...asked, until: created_at + hoursMs(hours), created_by: command.actor, created_at }
      return { answer: { outcome: 'snooze', snooze, revision }, state: { ...NO_SETTING, snooze } }
    }
    case 'assign_models':
    case 'set_challenger':
    case 'end_challenger':
    case 'promote_challenger':
    case 'roll_back_models': {
      const decision = decideModels(stored?.models ?? undefined, command, now)
      if ('refused' in decision) return { answer: decision.refused }
      return { answer: { outcome: 'models', models: decision.next, revision }, state: { ...NO_SETTING, models: decision.next } }
    }
    default:
      return about(decideRules(stored?.rules ?? undefined, command, now, others.version))
  }

  function limited(limit: string): SettingsDecision {
    return { answer: { outcome: 'limit', limit } }
  }
}

const NOT_FOUND: SettingsDecision = { answer: { outcome: 'not_found' } }

/** Returns the ids of the enabled rules whose conditions read a list. */
function readersOf(list: string, rules: FraudRuleSet['rules']): string[] {
  return rules.flatMap(({ rule_id, enabled, condition }) => {
    const compiled = enabled ? compileCondition(condition) : undefined
    return compiled?.ok === true && compiled.condition.lists.includes(list) ? [rule_id] : []
  })
}

function summaryOf({ values, ...list }: FraudList): ListSummary {
  return { ...list, count: values.length }
}
