// @ts-check
import { isolated, make } from '../../../kit/page/browser/elements.js'

/**
 * @typedef {object} Person
 * @property {string} user_id
 * @property {string} display_name
 * @property {number} age
 * @property {string[]} photo_urls
 */

/** @typedef {Person & { bio: string, distance_km: number, score: number }} Candidate */

const HUES = 360
const HUE_DIGITS = 3
const INITIALS = 2

/** @param {Candidate} candidate */
export function cardOf(candidate) {
  const { display_name, age, bio, distance_km, photo_urls } = candidate
  const facts = make('div', 'facts')
  facts.append(make('h3', '', isolated(display_name), `, ${age}`), make('p', 'soft', `about ${distance_km} km away`))
  if (bio !== '') facts.append(make('p', 'bio', isolated(bio)))
  if (photo_urls.length > 0) facts.append(make('p', 'soft', photosNote(photo_urls.length)))
  // The text is focusable, so that a long bio can be scrolled with the keyboard.
  facts.tabIndex = 0
  facts.setAttribute('role', 'group')
  facts.setAttribute('aria-label', 'Profile')
  const card = make('article', 'card', portraitOf(candidate), facts)
  card.dataset.user = candidate.user_id
  return card
}

/**
 * Creates a coloured field with initials in place of a photo. Users choose the URLs of their photos, and loading a
 * photo would reveal to its server who views whom.
 * @param {Person} person
 */
export function portraitOf({ user_id, display_name }) {
  const portrait = make('div', 'photo', initialsOf(display_name))
  portrait.setAttribute('aria-hidden', 'true')
  portrait.style.setProperty('--hue', String(Number.parseInt(user_id.slice(0, HUE_DIGITS), 16) % HUES))
  return portrait
}

/** @param {string} name */
function initialsOf(name) {
  const words = name.split(/\s+/u).flatMap((word) => word.match(/[\p{L}\p{N}\p{Extended_Pictographic}]/u)?.[0] ?? [])
  return words.slice(0, INITIALS).join('').toUpperCase()
}

/** @param {number} count */
function photosNote(count) {
  const photos = count === 1 ? '1 photo' : `${count} photos`
  return `${photos} on other servers, which this page does not contact`
}
