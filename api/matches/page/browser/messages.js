// @ts-check
/** @import { Failure } from '../../../kit/page/browser/requests.js' */

/** @type {Readonly<Record<string, string>>} */
const BY_CODE = {
  unauthorized: 'This token is not valid or has expired. Sign in with a new token.',
  already_matched: 'Your last swipe has led to a match, so it cannot be taken back.',
  nothing_to_rewind: 'There is no swipe to take back.',
  profile_inactive: 'Your profile is switched off, so the feed is closed. Switch it on with PATCH /v1/me to see people again.',
  profile_not_found: 'This person is no longer available.',
  location_required: 'This user has not sent a location yet.',
  under_age: 'You must be at least 18 years old.',
  not_ready: 'The service is still loading its data.',
  unavailable: 'The service is not available at the moment.',
}

/** Labels of the fields of the page's forms. */
/** @type {Readonly<Record<string, string>>} */
const LABELS = {
  'body.display_name': 'Name',
  'body.birth_date': 'Birth date',
  'body.gender': 'Your gender',
  'body.seeking_gender': 'Genders you seek',
  'query.user': 'User',
}

/** Texts for the filters and exclusions of a search. */
/** @type {Readonly<Record<string, string>>} */
const REASONS = {
  gender: 'does not have a gender that the user seeks',
  gender_of_viewer: 'seeks other genders',
  age: 'is outside the age limits of the user',
  age_of_viewer: 'seeks other ages',
  active: 'has not been active for seven days',
  distance: 'is too far away',
  swiped: 'was swiped already',
  matched: 'is a match already',
  blocks: 'is blocked by the user',
  blocked: 'blocks the user',
  ended: 'was a match that has ended',
  switched_on: 'is switched off',
}

/**
 * Returns a text that says what went wrong and what the user can do.
 * @param {Failure} failure
 * @returns {string}
 */
export function problemOf({ status, code, message, details, retryAfterS, requestId }) {
  if (status === 0) return 'The server cannot be reached. Check your connection.'
  if (status === 429) return `${code === 'rate_limit_exceeded' ? 'That was too fast.' : message} Wait ${seconds(retryAfterS)}.`
  const known = BY_CODE[code]
  if (status === 503) return `${known ?? message} Wait ${seconds(retryAfterS)} and try again.`
  if (known !== undefined) return known
  const all = details.map(({ path, message: what }) => `${labelOf(path)} ${what}`).join('; ')
  if (code === 'invalid_request' && all !== '') return `This is not valid: ${all}.`
  return status >= 500 ? `${message} The request id is ${requestId}.` : message
}

/** @param {string} path the path of a field or of an element of a list, such as `body.seeking_gender[0]` */
function labelOf(path) {
  return LABELS[path.replace(/\[\d+\]$/, '')] ?? path
}

/** @param {string} reason */
export function reasonText(reason) {
  return REASONS[reason] ?? reason
}

/** @param {number} count */
export function seconds(count) {
  if (count < 120) return count === 1 ? 'a second' : `${count} seconds`
  return `${Math.ceil(count / 60)} minutes`
}
