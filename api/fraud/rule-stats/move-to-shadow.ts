import type { Rule } from '../../../schemas/fraud/rules/rule.ts'
import { fraudSettingsFlow } from '../../../schemas/fraud/settings/flow.ts'
import { RULES_KEY } from '../../../schemas/fraud/settings/keys.ts'
import type { Commands } from '../../kit/commands/commands.ts'

/** The author of the guard's changes in the audit. */
const ACTOR = 'fraud-guard'
const NOTHING = {
  rule: null,
  version: null,
  list: null,
  values: null,
  snooze: null,
  hours: null,
  versions: null,
  policy: null,
  force: false,
}

/**
 * Returns a function that puts a rule into shadow. All processes ask for it under the same key, so that it happens once
 * for each form of a rule, even if several processes act.
 */
export function shadowMover(commands: Pick<Commands, 'open'>): (rule: Rule) => Promise<void> {
  return async function moveToShadow({ rule_id, updated_at }) {
    const key = `${ACTOR}:${rule_id}:${updated_at}`
    const from = { caller: undefined, address: ACTOR, idempotencyKey: key, requestId: key }
    const command = await commands.open(from, ['shadowFraudRule', rule_id, updated_at])
    const answer = await command.run(fraudSettingsFlow, RULES_KEY, { ...NOTHING, action: 'shadow_rule', actor: ACTOR, rule_id })
    // A rule that was removed meanwhile blocks nothing.
    if (answer.outcome !== 'rules' && answer.outcome !== 'rule_not_found') throw new Error(`The answer was ${answer.outcome}.`)
  }
}
