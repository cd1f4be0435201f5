// @ts-check
/** @import { Person } from './card.js' */

import { isolated, make, part } from '../../../kit/page/browser/elements.js'
import { portraitOf } from './card.js'
import { ask } from './client.js'
import { failureOf } from './deck.js'

/** @typedef {Person & { match_id: string, matched_at: string }} Match */

const POLL_MS = 5_000
/**
 * Pause before the list is read again after the answer to a swipe has announced a match. The list contains the match
 * within a second or two.
 */
const SOON_MS = 1_000
/**
 * Maximum pause between requests. Each failure at least doubles the pause, and extends it to the Retry-After of the
 * answer, up to this maximum.
 */
const MOST_POLL_MS = 60_000
const SHOWN = 100

/**
 * Lists matches and announces new matches. Sends requests only while the page is visible.
 * @param {object} wiring
 * @param {(failure: import('../../../kit/page/browser/requests.js').Failure) => void} wiring.onFailure
 */
export function matchList({ onFailure }) {
  const list = part('match-list')
  const news = part('match-news')
  /** @type {Set<string> | undefined} undefined before the list is first read */
  let known
  /** Users whose match has already been announced. */
  const announced = new Set()
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer
  let pauseMs = POLL_MS
  let isRunning = false
  /** Increases with each start. Answers to requests from before the last start are ignored. */
  let run = 0

  async function poll() {
    clearTimeout(timer)
    const mine = run
    const isCurrent = () => isRunning && run === mine
    if (isCurrent() && document.visibilityState === 'visible') {
      try {
        const { matches, total } = await ask('GET', `matches?limit=${SHOWN}`)
        if (!isCurrent()) return
        show(matches, total)
        pauseMs = POLL_MS
      } catch (error) {
        const failure = failureOf(error)
        if (!isCurrent()) return
        pauseMs = Math.min(MOST_POLL_MS, Math.max(pauseMs * 2, failure.retryAfterS * 1_000))
        if (failure.status === 401) onFailure(failure)
      }
    }
    if (isCurrent()) schedule(pauseMs)
  }

  /** @param {number} ms */
  function schedule(ms) {
    clearTimeout(timer)
    timer = setTimeout(poll, ms)
  }

  /**
   * @param {Match[]} matches
   * @param {number} total
   */
  function show(matches, total) {
    const before = known
    known = new Set(matches.map(({ match_id }) => match_id))
    // The total includes matches that are too old for the list.
    part('matches-count').textContent = total === 0 ? '' : `(${total})`
    part('no-matches').hidden = total > 0
    const isSame = before?.size === known.size && [...known].every((id) => before.has(id))
    if (isSame) return
    list.replaceChildren(...matches.map(entryOf))
    const fresh = newOnes(matches, before).filter(({ user_id }) => !announced.has(user_id))
    if (fresh.length > 0) announce(fresh)
  }

  /** @param {readonly Pick<Person, 'user_id' | 'display_name'>[]} people */
  function announce(people) {
    for (const { user_id } of people) announced.add(user_id)
    news.replaceChildren(
      'It’s a match with ',
      ...people.flatMap(({ display_name }, at) => [at === 0 ? '' : ', ', isolated(display_name)]),
      '!',
    )
  }

  document.addEventListener('visibilitychange', () => {
    if (isRunning && document.visibilityState === 'visible') void poll()
  })

  return {
    start() {
      if (isRunning) return
      isRunning = true
      run++
      void poll()
    },
    /** Stops sending requests and clears the list. */
    stop() {
      isRunning = false
      clearTimeout(timer)
      known = undefined
      announced.clear()
      list.replaceChildren()
      news.replaceChildren()
      part('matches-count').textContent = ''
      part('no-matches').hidden = false
    },
    /**
     * Announces a match that the answer to a swipe contained, and soon reads the list again.
     * @param {Person} person
     */
    expect(person) {
      announce([person])
      schedule(SOON_MS)
    },
  }
}

/**
 * Returns the matches that are new. When a match in a full list ends, an older match may appear at the end of the list.
 * Such a match is not new.
 * @param {readonly Match[]} matches newest first
 * @param {Set<string> | undefined} before the ids of the matches that were listed before
 */
function newOnes(matches, before) {
  if (before === undefined) return []
  const isKnown = (/** @type {Match} */ { match_id }) => before.has(match_id)
  const newest = before.size < SHOWN ? matches : matches.slice(0, matches.findLastIndex(isKnown) + 1)
  return newest.filter((match) => !isKnown(match))
}

/** @param {Match} match */
function entryOf(match) {
  const time = make('time', 'soft', new Date(match.matched_at).toLocaleString())
  time.dateTime = match.matched_at
  return make('li', '', portraitOf(match), make('div', '', isolated(match.display_name), `, ${match.age}`, time))
}
