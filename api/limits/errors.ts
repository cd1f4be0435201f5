import { defineErrors } from '../kit/errors.ts'

/** The rate limit service's own entries of the error catalogue. */
export const limitsErrors = defineErrors({
  rule_exists: {
    status: 409,
    retryable: false,
    when: 'there is an active rule of this rule_id already',
    message: 'There is an active rule of this rule_id: PUT replaces it.',
  },
  rule_not_found: {
    status: 404,
    retryable: false,
    when: 'there is no rule of this rule_id',
    message: 'There is no rule of this rule_id.',
  },
  client_not_found: {
    status: 404,
    retryable: false,
    when: 'there is no API key of this key_id, or no client of this client_id',
    message: 'There is no such client.',
  },
})
