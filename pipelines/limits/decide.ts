import { seededLimits } from '../../schemas/catalogue.ts'
import type { LimitAnswer } from '../../schemas/limits/flow.ts'
import type { LimitCommand, LimitRule, LimitSetting } from '../../schemas/limits/types.ts'
import type { CommandFacts, Decided } from '../engine/index.ts'

type LimitDecision = Decided<LimitSetting, LimitAnswer>

/** Decides a command about a rule or an API key. */
export function decideLimit(stored: LimitSetting | undefined, command: LimitCommand, { key, now }: CommandFacts): LimitDecision {
  const rule = stored?.rule ?? seededRule(key)
  const { actor: changed_by, action } = command

  function changed(setting: Pick<LimitSetting, 'rule' | 'client'>): LimitDecision {
    return { answer: { outcome: 'done', ...setting }, state: { ...setting, changed_by, action } }
  }

  switch (action) {
    case 'create_rule':
      // The id of a deleted rule may be used again.
      if (rule?.is_active === true) return { answer: { outcome: 'exists' } }
      return changed({ rule: { ...command.rule!, created_at: now, updated_at: now }, client: null })
    case 'replace_rule':
      if (rule === undefined) return { answer: { outcome: 'not_found' } }
      return changed({ rule: { ...command.rule!, created_at: rule.created_at, updated_at: now }, client: null })
    case 'delete_rule':
      if (rule?.is_active !== true) return { answer: { outcome: 'not_found' } }
      return changed({ rule: { ...rule, is_active: false, updated_at: now }, client: null })
    case 'issue_key':
      if (stored?.client != null) return { answer: { outcome: 'exists' } }
      return changed({ rule: null, client: { ...command.client!, created_at: now, revoked_at: null } })
    case 'revoke_key': {
      const client = stored?.client
      if (client == null || client.revoked_at !== null) return { answer: { outcome: 'not_found' } }
      return changed({ rule: null, client: { ...client, revoked_at: now } })
    }
  }
}

/**
 * Returns the seeded rule for a key; undefined if there is none. Seeded rules exist even if no setting is stored for
 * their keys.
 */
export function seededRule(key: string): LimitRule | undefined {
  return seededLimits.find(({ rule_id }) => key === `rule:${rule_id}`)
}
