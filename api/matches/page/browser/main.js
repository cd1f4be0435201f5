// @ts-check
/** @import { Failure } from '../../../kit/page/browser/requests.js' */

import { button, input, notice, part } from '../../../kit/page/browser/elements.js'
import { claimsOf, session } from './client.js'
import { deck } from './deck.js'
import { onSubmit, savePlace, saveProfile } from './forms.js'
import { matchList } from './matches.js'
import { problemOf } from './messages.js'
import { searchMap } from './search-map.js'

/** Parts of the page. At most one of them is visible at a time. */
const VIEWS = ['sign-in', 'profile', 'place', 'feed']
/** The view with the form that resolves an error of the feed, keyed by the error code. */
/** @type {Readonly<Record<string, string>>} */
const MISSING = { profile_not_found: 'profile', location_required: 'place' }

const complain = notice(part('problem'))
const swipes = deck({ onFailure: report, onClosed, onSuccess: settle, onMatch: (person) => people.expect(person) })
const people = matchList({ onFailure: report })
const map = searchMap({ onFailure: report, onSuccess: settle })

/** @param {string} [view] undefined hides all */
function show(view) {
  const isNew = view !== undefined && part(view).hidden
  for (const one of VIEWS) part(one).hidden = one !== view
  if (!isNew) return
  if (view === 'feed') part('deck').focus({ preventScroll: true })
  else part(view).querySelector('input')?.focus()
}

function settle() {
  complain('')
}

/** @param {Failure} failure */
function report(failure) {
  if (failure.status === 401) signOut()
  complain(problemOf(failure))
}

/**
 * Closes the feed if the error shows that the feed cannot serve this user. If a form can resolve the error, shows the
 * form.
 * @param {Failure} failure
 * @returns {boolean} whether the feed stays closed to this user
 */
function onClosed(failure) {
  const isNoUser = failure.code === 'forbidden'
  const view = MISSING[failure.code]
  if (view === undefined && !isNoUser) return false
  leave()
  show(view)
  // Administrators do not see this message, because they need not be users of the feed.
  if (isNoUser && part('search').hidden) complain('The user of this token cannot use the match feed, because the user id is not a UUID.')
  return true
}

function enter() {
  const token = session.token
  const claims = token === null ? undefined : claimsOf(token)
  if (claims === undefined) return signOut()
  part('account').hidden = false
  part('who').textContent = claims.isAdmin ? 'Administrator' : ''
  part('search').hidden = !claims.isAdmin
  if (claims.isAdmin && input('search-user').value === '') input('search-user').value = claims.userId
  complain('')
  show('feed')
  swipes.start()
  people.start()
}

function leave() {
  swipes.stop()
  people.stop()
}

function signOut() {
  session.end()
  leave()
  map.clear()
  part('account').hidden = true
  part('search').hidden = true
  complain('')
  show('sign-in')
}

function signIn() {
  const token = input('token').value.trim()
  input('token').value = ''
  if (claimsOf(token) === undefined) return complain('This is not a token. A token has three parts with dots between them.')
  session.start(token)
  enter()
}

onSubmit('sign-in', signIn, report)
onSubmit('profile', () => saveProfile().then(enter), report)
onSubmit('place', () => savePlace().then(enter), report)
button('sign-out').addEventListener('click', signOut)
enter()
