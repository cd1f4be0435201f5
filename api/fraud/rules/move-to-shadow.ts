import type { Rule } from '../../../schemas/fraud/rules/rule.ts'
import { RULES_KEY } from '../../../schemas/fraud/settings/keys.ts'
import type { ChangeSettings } from '../settings-commands.ts'

/** Actor in the audit log when the guard of a process has put a rule into shadow mode. */
const GUARD = 'fraud-guard'
/** A request on behalf of the guard. It has no caller. */
const OWN_REQUEST = { caller: undefined, address: GUARD, idempotencyKey: undefined, requestId: GUARD }

/**
 * Creates the function that puts a rule into shadow mode without a request from a caller. The function throws ApiError
 * if the change is refused, for example because the rule has changed since the given version.
 */
export function shadowMover(changeSettings: ChangeSettings): (rule: Pick<Rule, 'rule_id' | 'updated_at'>) => Promise<void> {
  return async function moveToShadow({ rule_id, updated_at: version }) {
    const asked = ['shadowFraudRule', rule_id, version]
    const change = { key: RULES_KEY, action: 'shadow_rule', input: { rule_id, version }, outcome: 'rules', asked, actor: GUARD } as const
    await changeSettings(OWN_REQUEST, change)
  }
}
