import { defineErrors } from '../kit/errors.ts'

/** Errors of fraud scoring. */
export const fraudErrors = defineErrors({
  raw_card_number: {
    status: 400,
    when: '`payment_instrument` contains the number of a payment card; it is neither stored nor logged',
    message: 'The payment instrument contains a raw card number. Send a token of the card as card_hash instead.',
  },
  profile_not_found: {
    status: 404,
    when: 'nothing is known of this entity',
    message: 'Nothing is known of this entity.',
  },
  transaction_not_found: {
    status: 404,
    when: 'no such transaction was scored, or it is older than 90 days',
    message: 'There is no such transaction.',
  },
  blocklist_entry_exists: {
    status: 409,
    when: 'the entity is on the blocklist with another reason, analyst or lifetime; `entry_id` names the entry',
    message: 'The entity is already on the blocklist with other attributes. Delete its entry first.',
  },
  blocklist_entry_not_found: {
    status: 404,
    when: 'no such entry is on the blocklist, or it has expired',
    message: 'There is no such entry on the blocklist.',
  },
  rule_not_found: { status: 404, when: 'no rule has this id', message: 'There is no such rule.' },
})
