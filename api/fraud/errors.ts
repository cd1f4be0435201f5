import { defineErrors } from '../kit/errors.ts'

export const fraudErrors = defineErrors({
  raw_card_number: {
    status: 400,
    when: '`payment_instrument`, or the `CARD_HASH` of a blocklist entry or snooze, contains the number of a payment card; the number is neither stored nor logged',
    message: 'The request contains a raw card number. Send a token of the card instead.',
  },
  entity_not_found: {
    status: 404,
    when: 'there is no profile of this entity',
    message: 'Nothing is known about this entity.',
  },
  transaction_not_found: {
    status: 404,
    when: 'no such transaction was scored, it is older than 90 days, or it is not stored yet because it was scored just now or during an outage',
    message:
      'There is no such transaction, or it is older than 90 days. If it was scored just now or during an outage, try again in a minute.',
  },
  blocklist_entry_exists: {
    status: 409,
    when: 'the entity is on the blocklist with a different `reason`, `blocked_by` or `ttl_hours`; `entry_id` names the entry',
    message: 'The entity is already on the blocklist with different attributes. Use PUT to change its entry.',
  },
  blocklist_entry_not_found: {
    status: 404,
    when: 'no such entry is on the blocklist, or it has expired',
    message: 'There is no such entry on the blocklist.',
  },
  case_not_found: { status: 404, when: 'no such case exists', message: 'There is no such case.' },
  case_transition: {
    status: 409,
    when: 'the case cannot change from its current status, which `case` shows, to the requested status',
    message: 'The case cannot change from its current status to this status.',
  },
  version_conflict: {
    status: 409,
    when: 'somebody else has changed the case since the given `version`, or the rule since the version in If-Match; `case` or `rule` shows its current state',
    message: 'Somebody else has changed this in the meantime. Read it again.',
  },
  invalid_condition: {
    status: 400,
    when: 'the condition of a rule cannot be used; `details` lists each fault with its position, what was expected, and the nearest name',
    message: 'The condition cannot be used. See details.',
  },
  rule_exists: {
    status: 409,
    when: 'a rule with this rule_id exists; it may be disabled',
    message: 'A rule with this rule_id exists. Use PUT to replace it.',
  },
  rule_not_found: {
    status: 404,
    when: 'no rule has this rule_id',
    message: 'No rule has this rule_id.',
  },
  ruleset_version_not_found: {
    status: 404,
    when: 'the rule set has no such version, or it is not one of the last 50',
    message: 'There is no such version of the rule set, or it is not one of the last 50.',
  },
  snooze_not_found: {
    status: 404,
    when: 'the rule has no such snooze, or the snooze has ended',
    message: 'The rule has no such snooze.',
  },
  list_exists: {
    status: 409,
    when: 'a list with this name exists',
    message: 'A list with this name exists. Use PUT to replace it.',
  },
  list_not_found: {
    status: 404,
    when: 'no list has this name',
    message: 'No list has this name.',
  },
  list_in_use: {
    status: 409,
    when: 'enabled rules read the list; `rule_ids` names them',
    message: 'Enabled rules read the list. Change or disable these rules first.',
  },
  settings_limit_reached: {
    status: 409,
    when: 'the change would exceed a limit of the rules, lists or snoozes; the message names it',
    message: 'The change would exceed a limit.',
  },
  backtest_not_found: {
    status: 404,
    when: 'there is no such back-test, or it ended more than 24 hours ago',
    message: 'There is no such back-test, or its result is no longer kept.',
  },
  backtest_running: {
    status: 409,
    when: 'the caller has a back-test running; `job_id` names it',
    message: 'Your previous back-test is still running. Wait until it has ended.',
  },
  backtests_full: {
    status: 503,
    when: 'this process already runs the maximum number of back-tests; `Retry-After` says when to try again',
    message: 'Too many back-tests are running. Try again shortly.',
  },
  model_not_found: {
    status: 404,
    when: 'neither the shipped models nor those of FRAUD_MODELS_DIR contain this model in this version',
    message: 'There is no such model.',
  },
  no_challenger: {
    status: 409,
    when: 'no models are on trial',
    message: 'No models are on trial.',
  },
  challenger_too_young: {
    status: 409,
    when: 'the challenger has been on trial for less than 7 days, and `force` is not true; `promotable_at` says when it may be promoted',
    message: 'The challenger has been on trial for less than 7 days.',
  },
  challenger_refused: {
    status: 409,
    when: "the model process of this API cannot use the challenger's models, which therefore may not have been tried at all, and `force` is not true; the message says why",
    message: 'The models of the challenger cannot be used.',
  },
  no_previous_models: {
    status: 409,
    when: 'there are no earlier models that could be restored',
    message: 'There are no earlier models that could be restored.',
  },
})
