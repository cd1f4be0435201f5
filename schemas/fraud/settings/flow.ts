import type { CommandFlow } from '../../commands/topics.ts'
import { fraudSettingsCommands, fraudSettingsDecisions } from '../topics.ts'
import type { FraudModels, FraudRule, FraudSetting, FraudSettingsCommand, FraudSnooze } from '../types.ts'

/** A list without its values. */
export interface ListSummary {
  readonly name: string
  readonly count: number
  readonly updated_by: string
  /** Epoch ms. */
  readonly created_at: number
  /** Epoch ms. */
  readonly updated_at: number
}

/**
 * The result of a successful command. `revision` is the number of the change. If nothing had to change, it is the
 * number of the last change to any setting.
 */
type Done<T> = T & { readonly revision: number }

/** The answer to a change of settings. */
export type FraudSettingsAnswer =
  /** The rules are as requested. `rule` is the rule that was created, changed or removed; null after a roll-back. */
  | Done<{ readonly outcome: 'rules'; readonly rule: FraudRule | null; readonly ruleset_version: number }>
  | Done<{ readonly outcome: 'list'; readonly list: ListSummary }>
  | Done<{ readonly outcome: 'snooze'; readonly snooze: FraudSnooze }>
  | Done<{ readonly outcome: 'models'; readonly models: FraudModels }>
  | Done<{ readonly outcome: 'removed' }>
  | { readonly outcome: 'exists' | 'not_found' | 'rule_not_found' | 'version_not_found' | 'no_challenger' | 'no_previous_models' }
  /** The `updated_at` of the rule is not the expected time. `rule` is the current state of the rule. */
  | { readonly outcome: 'rule_changed'; readonly rule: FraudRule }
  /** Enabled rules read the list. */
  | { readonly outcome: 'in_use'; readonly rule_ids: readonly string[] }
  /** A limit forbids the change. `limit` is a sentence about the limit. */
  | { readonly outcome: 'limit'; readonly limit: string }
  /** Without `force`, the challenger cannot become the champion before the time `from`, epoch ms. */
  | { readonly outcome: 'too_early'; readonly from: number }

export const fraudSettingsFlow: CommandFlow<FraudSettingsCommand, FraudSetting, FraudSettingsAnswer> = {
  name: 'fraud-settings',
  commands: fraudSettingsCommands,
  decisions: fraudSettingsDecisions,
}
