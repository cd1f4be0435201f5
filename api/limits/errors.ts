import { defineErrors } from '../kit/errors.ts'

export const limitsErrors = defineErrors({
  rule_exists: {
    status: 409,
    when: 'an active rule with this rule_id already exists',
    message: 'An active rule with this rule_id already exists. Use PUT to replace it.',
  },
  rule_not_found: {
    status: 404,
    when: 'no rule has this rule_id, or the rule to be deleted is already inactive',
    message: 'No rule has this rule_id.',
  },
  client_not_found: {
    status: 404,
    when: 'no API key has this key_id, the key is already revoked, or no client has this client_id',
    message: 'This client does not exist.',
  },
})
