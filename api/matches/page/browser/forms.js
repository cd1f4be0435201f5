// @ts-check
/** @import { Failure } from '../../../kit/page/browser/requests.js' */

import { input } from '../../../kit/page/browser/elements.js'
import { onSubmit as lockedWhileSending } from '../../../kit/page/browser/form.js'
import { ask } from './client.js'
import { failureOf } from './deck.js'

/**
 * Calls `send` when a form is submitted.
 * @param {string} id
 * @param {() => unknown} send
 * @param {(failure: Failure) => void} onFailure
 */
export function onSubmit(id, send, onFailure) {
  lockedWhileSending(id, send, (error) => onFailure(failureOf(error)))
}

/** Creates the profile that the form describes. */
export async function saveProfile() {
  const gender = input('gender').value.trim()
  const seeking = input('seeking')
    .value.split(',')
    .map((one) => one.trim())
    .filter(Boolean)
  await ask('PUT', 'me', {
    display_name: input('name').value,
    birth_date: input('birth-date').value,
    gender: gender === '' ? null : gender,
    seeking_gender: seeking,
  })
}

/** Sends the location that the form contains. */
export async function savePlace() {
  await ask('POST', 'location', { lat: degrees('lat'), lon: degrees('lon') })
}

/**
 * Returns the number in a field. In many languages, people write a decimal comma. The pattern of the field admits only
 * numbers in range.
 * @param {string} id
 */
function degrees(id) {
  return Number(input(id).value.replace(',', '.'))
}
