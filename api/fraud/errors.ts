import { defineErrors } from '../kit/errors.ts'

/** Errors of fraud scoring. */
export const fraudErrors = defineErrors({
  transaction_not_found: {
    status: 404,
    when: 'no such transaction was scored, or it is older than 90 days',
    message: 'There is no such transaction.',
  },
})
