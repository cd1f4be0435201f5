// @ts-check
/** @import { Candidate } from './card.js' */
/** @import { Failure } from '../../../kit/page/browser/requests.js' */

import { button, ignoreHeldEnter, isolated, make, part } from '../../../kit/page/browser/elements.js'
import { RequestFailed } from '../../../kit/page/browser/requests.js'
import { cardOf } from './card.js'
import { ask } from './client.js'
import { seconds } from './messages.js'

/** @typedef {'LEFT' | 'RIGHT' | 'SUPER_LIKE'} Direction */

const FEED_LIMIT = 20
/**
 * When fewer candidates than this are left, the page reads the feed again. The answer contains further candidates,
 * because the server keeps more candidates than it sends at once.
 */
const FILL_BELOW = 5
/**
 * Minimum time until the feed is read again when the deck is nearly empty, and until a failed read is retried. The
 * server keeps even an empty result for five seconds, so an earlier request would find nothing new.
 */
const LEAST_RELOAD_MS = 6_000
const MOST_RELOAD_MS = 30_000
const EMPTY_RELOAD_MS = 8_000
const CLOCK_MS = 1_000
/** Duration of the transition in the style sheet. */
const FLIGHT_MS = 250
/** Maximum `swipe_duration_ms` that the page sends: one day. */
const MAX_DURATION_MS = 86_400_000

/** @type {Readonly<Record<string, Direction | 'REWIND'>>} */
const KEYS = { ArrowLeft: 'LEFT', ArrowRight: 'RIGHT', ArrowUp: 'SUPER_LIKE', Backspace: 'REWIND', z: 'REWIND', Z: 'REWIND' }
/** @type {Readonly<Record<Direction, string>>} */
const FLIGHTS = { LEFT: 'left', RIGHT: 'right', SUPER_LIKE: 'up' }
/** @type {Readonly<Record<Direction, string>>} */
const PAST = { LEFT: 'You passed on', RIGHT: 'You like', SUPER_LIKE: 'You super-like' }

/**
 * Shows candidates one by one, and sends swipes to the server in the order in which the user made them.
 * @param {object} wiring
 * @param {(failure: Failure) => void} wiring.onFailure
 * @param {(failure: Failure) => boolean} wiring.onClosed returns whether the feed stays closed to this user
 * @param {() => void} wiring.onSuccess
 * @param {(candidate: Candidate) => void} wiring.onMatch
 */
export function deck({ onFailure, onClosed, onSuccess, onMatch }) {
  const cards = part('cards')
  const news = part('deck-news')
  /** @type {Readonly<Record<Direction | 'REWIND', HTMLButtonElement>>} */
  const buttons = { LEFT: button('pass'), RIGHT: button('like'), SUPER_LIKE: button('super-like'), REWIND: button('rewind') }
  /** @type {Candidate[]} */
  let waiting = []
  /**
   * Ids of the targets of swipes that are waiting in the queue or being sent. A feed that is read before such a swipe
   * arrives may still contain its target.
   */
  const sending = new Set()
  /**
   * The last swipe; undefined once its request has ended.
   * @type {{ hasFailed: boolean } | undefined}
   */
  let lastSwipe
  /**
   * Resolves when all queued requests have ended. Swipes and rewinds reach the server one at a time, because a rewind
   * takes back the last swipe.
   */
  let sent = Promise.resolve()
  let shownAt = 0
  let position = 0
  let reloadAt = Number.POSITIVE_INFINITY
  let pausedUntil = 0
  let hasLoaded = false
  let isRunning = false
  /** Increases with each start. Answers to requests from before the last start are ignored. */
  let run = 0
  /** @type {ReturnType<typeof setInterval> | undefined} */
  let clock

  function show() {
    const [top, next] = waiting
    const flying = [...cards.querySelectorAll('.left, .right, .up')]
    const shown = cards.querySelector('.card:not(.next, .left, .right, .up)')
    const isSame = shown instanceof HTMLElement && shown.dataset.user === top?.user_id
    if (!isSame) shownAt = performance.now()
    const pile = [next, top].flatMap((one) => {
      if (one === undefined) return []
      if (one === top && isSame) return [shown]
      const card = cardOf(one)
      if (one !== top) {
        card.classList.add('next')
        card.inert = true
      }
      return [card]
    })
    const empty = hasLoaded ? 'Nobody new nearby at the moment. This page checks again automatically.' : 'Looking for people nearby …'
    cards.replaceChildren(...(pile.length === 0 ? [make('p', 'empty', empty)] : pile), ...flying)
    refreshButtons()
  }

  function refreshButtons() {
    const isPaused = Date.now() < pausedUntil
    for (const [action, one] of Object.entries(buttons)) {
      const isOff = isPaused || (action !== 'REWIND' && waiting.length === 0)
      // Sets `aria-disabled` instead of `disabled`, because a disabled button would lose the focus and could not
      // receive the next key.
      one.setAttribute('aria-disabled', String(isOff))
    }
  }

  /** @param {Direction} direction */
  function swipe(direction) {
    const candidate = waiting[0]
    if (candidate === undefined || Date.now() < pausedUntil) return
    const duration = Math.min(MAX_DURATION_MS, Math.round(performance.now() - shownAt))
    const body = { target_user_id: candidate.user_id, direction, swipe_duration_ms: duration, feed_position: position++ }
    // If the focus is in a card, moves it to the deck, because a swiped card cannot keep the focus.
    if (cards.contains(document.activeElement)) part('deck').focus({ preventScroll: true })
    fly(direction)
    waiting.shift()
    sending.add(candidate.user_id)
    const made = { hasFailed: false }
    lastSwipe = made
    show()
    const next = waiting[0]
    const following = next === undefined ? [] : [' Next: ', isolated(next.display_name), `, ${next.age}.`]
    news.replaceChildren(`${PAST[direction]} `, isolated(candidate.display_name), '.', ...following)
    inOrder(async (isCurrent) => {
      try {
        const answer = await ask('POST', 'swipe', body)
        if (!isCurrent()) return
        settle()
        if (answer.queued === true) news.textContent = 'The service is busy. Your swipe is stored and will take effect later.'
        if (answer.match?.matched === true) onMatch(candidate)
      } catch (error) {
        const failure = failureOf(error)
        made.hasFailed = true
        if (!isCurrent()) return
        // If the person is no longer available, for example because the profile was deleted or switched off, the card
        // does not come back. After any other failure, it comes back.
        if (failure.code !== 'profile_not_found') waiting.unshift(candidate)
        else if (await isOwnMissing(isCurrent)) return
        pauseFor(failure)
        onFailure(failure)
      } finally {
        if (lastSwipe === made) lastSwipe = undefined
        if (isCurrent()) {
          sending.delete(candidate.user_id)
          show()
        }
      }
    })
    fillUp()
  }

  /**
   * Called after a swipe has failed with `profile_not_found`, which may also mean that the user's own profile is
   * missing. In this case, closes the feed.
   * @param {() => boolean} isCurrent
   * @returns whether the feed was closed, by this function or while it waited
   */
  async function isOwnMissing(isCurrent) {
    try {
      await ask('GET', 'me')
      return !isCurrent()
    } catch (error) {
      return !isCurrent() || onClosed(failureOf(error))
    }
  }

  function rewind() {
    if (Date.now() < pausedUntil) return
    const takenBack = lastSwipe
    inOrder(async (isCurrent) => {
      // If this swipe has failed, the server would take back the previous swipe instead.
      if (takenBack?.hasFailed) return
      try {
        const answer = await ask('POST', 'swipe/rewind')
        if (!isCurrent()) return
        settle()
        news.textContent =
          answer.queued === true
            ? 'The service is busy. It will take your last swipe back later, unless the swipe has led to a match.'
            : 'Your last swipe was taken back.'
        await load(isCurrent)
      } catch (error) {
        const failure = failureOf(error)
        // A rewind names no other user, so `profile_not_found` means that the user has no profile.
        if (!isCurrent() || onClosed(failure)) return
        pauseFor(failure)
        onFailure(failure)
      }
    })
  }

  /** @param {(isCurrent: () => boolean) => Promise<void>} step */
  function inOrder(step) {
    const mine = run
    const isCurrent = () => isRunning && run === mine
    // A bug in one step must not prevent later steps.
    sent = sent.then(() => (isCurrent() ? step(isCurrent) : undefined)).catch(reportError)
  }

  /** Removes the error message, unless the user has to wait. */
  function settle() {
    if (Date.now() >= pausedUntil) onSuccess()
  }

  /** @param {Failure} failure */
  function pauseFor({ status, retryAfterS }) {
    if (status !== 429 && status !== 503) return
    pausedUntil = Date.now() + retryAfterS * 1_000
    refreshButtons()
    setTimeout(() => {
      if (Date.now() < pausedUntil) return
      if (isRunning) news.textContent = 'You can continue.'
      settle()
      refreshButtons()
    }, retryAfterS * 1_000)
    news.textContent = `Paused for ${seconds(retryAfterS)}.`
  }

  /** @param {Direction} direction */
  function fly(direction) {
    const card = cards.querySelector('.card:not(.next, .left, .right, .up)')
    if (!(card instanceof HTMLElement)) return
    if (matchMedia('(prefers-reduced-motion: reduce)').matches) return card.remove()
    card.inert = true
    card.classList.add(FLIGHTS[direction])
    setTimeout(() => card.remove(), FLIGHT_MS)
  }

  /**
   * Reads the feed and replaces the deck with it.
   * @param {() => boolean} isCurrent
   */
  async function load(isCurrent) {
    reloadAt = Number.POSITIVE_INFINITY
    try {
      const { candidates, next_refill_hint } = await ask('GET', `feed?limit=${FEED_LIMIT}`)
      if (!isCurrent()) return
      waiting = candidates.filter((/** @type {Candidate} */ { user_id }) => !sending.has(user_id))
      position = 0
      hasLoaded = true
      reloadAt = Date.now() + reloadMs(waiting.length, Date.parse(next_refill_hint))
      settle()
    } catch (error) {
      const failure = failureOf(error)
      if (!isCurrent() || onClosed(failure)) return
      reloadAt = Date.now() + Math.max(LEAST_RELOAD_MS, failure.retryAfterS * 1_000)
      onFailure(failure)
    } finally {
      if (isCurrent()) show()
    }
  }

  function fillUp() {
    if (waiting.length >= FILL_BELOW || Date.now() < reloadAt) return
    reloadAt = Number.POSITIVE_INFINITY
    inOrder(load)
  }

  for (const [action, one] of Object.entries(buttons)) {
    ignoreHeldEnter(one)
    one.addEventListener('click', () => act(/** @type {Direction | 'REWIND'} */ (action)))
  }

  /** @param {Direction | 'REWIND'} action */
  function act(action) {
    if (action === 'REWIND') rewind()
    else swipe(action)
  }

  /** @param {KeyboardEvent} event */
  function onKey(event) {
    const action = KEYS[event.key]
    if (action === undefined || event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey || event.repeat) return
    // Keys that are pressed in other parts of the page, such as text fields, are not swipes.
    const at = event.target instanceof Element ? event.target : document.body
    if (at !== document.body && at.closest('#deck') === null) return
    if (event.key === 'ArrowUp' && isLong(at.closest('.facts'))) return
    event.preventDefault()
    act(action)
  }

  return {
    /** Reads the feed and starts listening for keys. */
    start() {
      if (isRunning) return
      isRunning = true
      run++
      sending.clear()
      show()
      document.addEventListener('keydown', onKey)
      clock = setInterval(() => {
        if (document.visibilityState === 'visible' && Date.now() >= reloadAt) fillUp()
      }, CLOCK_MS)
      inOrder(load)
    },
    /** Stops sending requests and clears the deck. */
    stop() {
      isRunning = false
      document.removeEventListener('keydown', onKey)
      clearInterval(clock)
      waiting = []
      hasLoaded = false
      pausedUntil = 0
      reloadAt = Number.POSITIVE_INFINITY
      news.textContent = ''
      show()
    },
  }
}

/**
 * Returns whether a profile is so long that the arrow keys scroll it.
 * @param {Element | null} facts
 */
function isLong(facts) {
  return facts !== null && facts.scrollHeight > facts.clientHeight
}

/**
 * Returns how long the page waits, in ms, before it may read the feed again; 0 if enough candidates are left.
 * @param {number} left
 * @param {number} hintAt epoch ms
 */
function reloadMs(left, hintAt) {
  if (left === 0) return EMPTY_RELOAD_MS
  if (left >= FILL_BELOW) return 0
  return Math.min(MOST_RELOAD_MS, Math.max(LEAST_RELOAD_MS, hintAt - Date.now() || 0))
}

/**
 * @param {unknown} error
 * @returns {Failure}
 */
export function failureOf(error) {
  if (error instanceof RequestFailed) return error.failure
  throw error
}
