// @ts-check
import { button, byId, isolated, make, notice, part } from '../../../kit/page/browser/elements.js'
import { ask, session } from '../../../kit/page/browser/session.js'
import { ago, count, money, words } from './text.js'

const REFRESH_MS = 10_000
const PAGE = 20
/** Maximum number of pages, because the API lists only the newest 10,000 cases. */
const MOST_PAGES = 10_000 / PAGE

/**
 * @typedef {object} Case
 * @property {string} case_id
 * @property {string} transaction_id
 * @property {string} user_id
 * @property {number} risk_score
 * @property {string} decision
 * @property {string | null} assigned_to
 * @property {string} status
 * @property {string | null} verdict
 * @property {string | null} fraud_type
 * @property {string | null} notes
 * @property {string} created_at
 * @property {string | null} resolved_at
 * @property {string[]} triggered_rules
 * @property {{ factor: string, contribution: number }[]} risk_factors
 * @property {number} amount
 * @property {string} currency
 * @property {number} version
 * @property {any[]} [history]
 */

/** @typedef {{ onFailure: (error: unknown) => void, onSuccess: () => void }} Wiring */
/** @typedef {Wiring & { background: () => Wiring }} RulesWiring `background` returns the wiring of requests that the page sends on its own */

/**
 * The list of cases. While the list is visible, it is read again every 10 seconds.
 * @param {Wiring} wiring
 */
export function caseQueue({ onFailure, onSuccess }) {
  const list = part('case-list')
  const summarise = notice(part('queue-summary'))
  /** @type {Case[]} */
  let cases = []
  let page = 1
  let total = 0
  let isComplete = true
  let isShown = false
  /** @type {string | undefined} */
  let chosen
  let drawn = ''
  /** Counts requests, so that a late answer does not replace a newer answer. */
  let asked = 0
  /** Whether the answer to the last request is still awaited. */
  let isWaiting = false
  /** @type {ReturnType<typeof setInterval> | undefined} */
  let timer

  async function load() {
    const turn = ++asked
    isWaiting = true
    const query = new URLSearchParams({ page: String(page), limit: String(PAGE) })
    const status = byId('status', HTMLSelectElement).value
    if (status !== '') query.set('status', status)
    if (byId('assignee', HTMLSelectElement).value === 'me') query.set('assigned_to', session.current?.subject ?? '')
    try {
      const found = await ask('GET', `/api/v1/cases?${query}`)
      if (turn !== asked) return
      // A case that changes may leave the filtered list, so this page may no longer exist.
      if (page > pagesOf(found.total)) {
        page = pagesOf(found.total)
        return await load()
      }
      cases = found.cases
      total = found.total
      isComplete = found.complete !== false
      draw()
      onSuccess()
    } catch (error) {
      if (turn !== asked) return
      onFailure(error)
    } finally {
      if (turn === asked) isWaiting = false
    }
  }

  /**
   * Reads the cases again, unless the answer to the last request is still awaited. If a new request replaced each slow
   * request, the page would never show an answer or a failure.
   */
  function loadAgain() {
    if (!isWaiting) void load()
  }

  function draw() {
    const isNarrowed = byId('status', HTMLSelectElement).value !== ''
    const missing = isComplete ? '' : '; cases that were closed more than 30 days ago may be missing'
    summarise(`${count(total)} ${total === 1 ? 'case' : 'cases'}${isNarrowed ? ' with this status' : ''}${missing}`)
    const pages = pagesOf(total)
    part('pages').hidden = pages === 1
    part('page-number').textContent = `${page} of ${count(pages)}`
    // The buttons are not really disabled, because a disabled button would lose the focus.
    button('previous-page').ariaDisabled = String(page === 1)
    button('next-page').ariaDisabled = String(page >= pages)
    // Replacing the entries disturbs the focus, so they are replaced only when they have changed.
    const now = JSON.stringify([cases, chosen, Math.floor(Date.now() / 60_000)])
    if (now === drawn) return
    drawn = now
    const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset.case : undefined
    list.replaceChildren(...cases.map(entryOf))
    const again = [...list.querySelectorAll('a')].find((link) => link.dataset.case === focused)
    if (focused !== undefined) again?.focus({ preventScroll: true })
  }

  /** @param {Case} one */
  function entryOf(one) {
    const link = make('a', 'entry')
    link.href = `#case/${encodeURIComponent(one.case_id)}`
    link.dataset.case = one.case_id
    if (one.case_id === chosen) link.setAttribute('aria-current', 'true')
    const reason = one.triggered_rules[0] ?? one.risk_factors[0]?.factor
    link.append(
      make('span', `score ${levelOf(one.risk_score)}`, String(one.risk_score)),
      make('span', 'amount', money(one.amount, one.currency)),
      make('span', 'who soft', isolated(one.user_id)),
      make('span', 'reason soft', isolated(reason ?? 'no single reason')),
      make('span', 'when soft', `${words(one.status)} · ${ago(one.created_at)}`),
    )
    return make('li', '', link)
  }

  /** @param {number} by */
  function turn(by) {
    const next = page + by
    if (next < 1 || next > pagesOf(total)) return
    page = next
    void load()
  }
  button('previous-page').addEventListener('click', () => turn(-1))
  button('next-page').addEventListener('click', () => turn(1))

  return {
    refresh: () => void load(),
    /** Shows the first page after the filters have changed. */
    filter() {
      page = 1
      void load()
    },
    /**
     * @param {boolean} visible
     * @param {string} [caseId] the case that is open
     */
    show(visible, caseId) {
      chosen = caseId
      if (visible && cases.length > 0) draw()
      if (visible === isShown) return
      isShown = visible
      clearInterval(timer)
      asked++
      if (!visible) return
      timer = setInterval(loadAgain, REFRESH_MS)
      void load()
    },
    /**
     * Opens the next or the previous case.
     * @param {number} by
     */
    step(by) {
      const at = cases.findIndex(({ case_id }) => case_id === chosen)
      // If the list does not contain the open case, or no case is open, both directions lead to the first case.
      const next = cases[at === -1 ? 0 : at + by]
      if (next !== undefined) location.hash = `#case/${encodeURIComponent(next.case_id)}`
    },
  }
}

/** @param {number} total number of cases */
function pagesOf(total) {
  return Math.min(MOST_PAGES, Math.max(1, Math.ceil(total / PAGE)))
}

const LEVELS = [
  { from: 850, name: 'critical' },
  { from: 600, name: 'high' },
  { from: 300, name: 'medium' },
]

/** @param {number} score 0 to 1000 */
export function levelOf(score) {
  return LEVELS.find(({ from }) => score >= from)?.name ?? 'low'
}
