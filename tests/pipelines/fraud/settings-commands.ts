import { decisionDriver } from '../../../pipelines/engine/testing.ts'
import { fraudSettingsTopology } from '../../../pipelines/fraud/settings/topology.ts'
import { fraudSettingsFlow } from '../../../schemas/fraud/settings/flow.ts'
import { listKey, MODELS_KEY, RULES_KEY, snoozeIdOf, snoozeKey } from '../../../schemas/fraud/settings/keys.ts'
import { fraudAudit, fraudRulesets } from '../../../schemas/fraud/topics.ts'
import type { FraudRule, FraudSetting, FraudSettingsAction, FraudSettingsCommand, FraudSnooze } from '../../../schemas/fraud/types.ts'

export const ACTOR = 'ops-1'

export function settingsCommand(action: FraudSettingsAction, given: Partial<FraudSettingsCommand> = {}): FraudSettingsCommand {
  const nothing = {
    rule_id: null,
    rule: null,
    version: null,
    list: null,
    values: null,
    snooze: null,
    hours: null,
    versions: null,
    policy: null,
  }
  return { action, actor: ACTOR, ...nothing, force: false, ...given }
}

export function ruleOf(rule_id: string, given: Partial<FraudRule> = {}): FraudRule {
  return {
    rule_id,
    name: rule_id,
    condition: 'txn.amount > 1',
    action: 'REVIEW',
    priority: 1,
    enabled: true,
    mode: 'live',
    created_by: ACTOR,
    created_at: 0,
    updated_at: 0,
    expires_at: null,
    ...given,
  }
}

/** Creates a driver for the settings topology, and collects its output. */
export function settingsDriver() {
  const { ask, driver, view } = decisionDriver(fraudSettingsTopology, fraudSettingsFlow)
  const inForce = new Map<string, FraudSetting>()
  const audit = () => driver.read(fraudAudit).map(({ value }) => value!)

  /** Applies the published records as the API does, and returns the settings in force. */
  function published(): ReadonlyMap<string, FraudSetting> {
    for (const { key, value } of driver.read(fraudRulesets)) {
      if (value === null) inForce.delete(key as string)
      else inForce.set(key as string, value)
    }
    return inForce
  }

  return {
    driver,
    view,
    audit,
    published,
    revision: () => published().get('counts')?.counts?.revision ?? 0,
    rules: () => published().get(RULES_KEY)!.rules!,
    rule: (action: FraudSettingsAction, rule_id: string, given: Partial<FraudRule> = {}) =>
      ask(RULES_KEY, settingsCommand(action, { rule_id, rule: action.endsWith('e_rule') ? ruleOf(rule_id, given) : null })),
    rollBack: (version: number) => ask(RULES_KEY, settingsCommand('roll_back_rules', { version })),
    list: (action: FraudSettingsAction, list: string, values: string[] | null = null) =>
      ask(listKey(list), settingsCommand(action, { list, values })),
    snooze(hours: number, given: Partial<FraudSnooze> = {}) {
      const about = { rule_id: 'seed-tor', entity_type: 'USER' as const, entity_value: 'u1', ...given }
      const snooze_id = snoozeIdOf(about)
      const snooze = { snooze_id, ...about, until: 0, reason: null, created_by: '', created_at: 0 }
      return ask(snoozeKey(snooze_id), settingsCommand('snooze_rule', { rule_id: about.rule_id, snooze, hours }))
    },
    endSnooze: (snoozeId: string, rule_id = 'seed-tor') => ask(snoozeKey(snoozeId), settingsCommand('end_snooze', { rule_id })),
    models: (action: FraudSettingsAction, given: Partial<FraudSettingsCommand> = {}) => ask(MODELS_KEY, settingsCommand(action, given)),
  }
}
