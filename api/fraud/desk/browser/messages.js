// @ts-check
/** @import { Failure } from '../../../kit/page/browser/requests.js' */
import { words } from './text.js'

/** @type {Readonly<Record<string, string>>} */
const BY_CODE = {
  unauthorized: 'You are no longer signed in, or this token is not valid. Sign in with a new token.',
  forbidden: 'Your token does not allow this.',
  transaction_not_found:
    'There is no such transaction, or it is older than 90 days. If it was scored just now or during an outage, try again in a minute.',
  case_not_found: 'There is no such case.',
  no_challenger: 'No models are on trial.',
  no_previous_models: 'There are no earlier models that could be restored.',
  ruleset_version_not_found: 'This version of the rules can no longer be restored.',
  snooze_not_found: 'This snooze is over.',
  rule_not_found: 'There is no such rule.',
  rate_limit_exceeded: 'That was too fast.',
  backtests_full: 'Too many back-tests are running.',
  not_ready: 'The service is still loading its data.',
  unavailable: 'The service is not available at the moment.',
  version_conflict: 'Somebody else has changed this in the meantime. Check its current state before you try again.',
}

/**
 * Returns a text that says what went wrong and what the user can do.
 * @param {Failure} failure
 * @returns {string}
 */
export function problemOf({ status, code, message, details, retryAfterS, requestId, mayTakeEffect }) {
  if (status === 0) return message
  const known = BY_CODE[code]
  if (status === 429 || status === 503) {
    const said = mayTakeEffect ? `${known ?? message} Your change may still take effect.` : (known ?? message)
    return `${said} Wait ${retryAfterS} s and try again.`
  }
  if (known !== undefined) return known
  const all = details.map(({ path, message: what }) => [fieldOf(path), what].filter(Boolean).join(' ')).join('; ')
  // The message of `invalid_request` only says that there are details.
  if (all !== '') return code === 'invalid_request' ? `The server did not accept this: ${all}.` : `${message} ${all}`
  return status >= 500 ? `${message} The request id is ${requestId}.` : message
}

/**
 * Returns the name of a faulty field, without the part of the request that contains it.
 * @param {string | undefined} path such as `body.entity_value`
 */
function fieldOf(path = '') {
  return words(path.replace(/^(body|query|path|header)(\.|$)/, ''))
}
