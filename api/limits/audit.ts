import type { LimitClient, LimitRule } from '../../schemas/limits/types.ts'
import { keyJson, settingJson } from './model.ts'

/**
 * Returns a setting of an audit record as the other endpoints show it, so that an administrator can restore a rule from
 * it. The audit stores the fields of records, with times in epoch ms.
 */
export function auditedJson(text: string | null): unknown {
  if (text === null) return null
  const setting: LimitRule | LimitClient = JSON.parse(text)
  return 'rule_id' in setting ? settingJson(setting) : keyJson(setting)
}
