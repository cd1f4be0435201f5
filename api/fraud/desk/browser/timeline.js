// @ts-check
/** @import { Dossier } from './case.js' */
import { isolated, make } from '../../../kit/page/browser/elements.js'
import { ago, capitalised, dateTime, money, words } from './text.js'

/** A user with many transactions has more than anybody reads. */
const MOST = 60

/** @typedef {{ at: number, what: (Node | string)[], className: string }} Moment */

/**
 * Returns the earlier transactions of the user that the profile lists, newest first.
 * @param {any} profile
 * @returns {any[]}
 */
export function earlier(profile) {
  const listed = profile?.recent_transactions ?? profile?.transactions ?? profile?.events
  return Array.isArray(listed) ? listed.filter((one) => typeof one === 'object' && one !== null) : []
}

/** @param {any} one a transaction of a profile, or a request */
export function timeOf(one) {
  return new Date(one?.timestamp ?? one?.at ?? Number.NaN).getTime()
}

/**
 * Shows what happened, newest first: the user's transactions, the score, and what people did with the case.
 * @param {HTMLElement} where
 * @param {Dossier} dossier
 */
export function drawTimeline(where, { found, transaction, profile }) {
  /** @type {Moment[]} */
  const moments = []
  const ownTime = timeOf(transaction?.request)
  if (transaction?.request) {
    moments.push({
      at: ownTime,
      what: ['This transaction: ', money(transaction.request.amount, transaction.request.currency)],
      className: 'own',
    })
  }
  for (const one of earlier(profile)) {
    const at = timeOf(one)
    if (at === ownTime) continue
    const amount =
      one.amount_usd !== undefined ? money(one.amount_usd, 'USD') : one.amount !== undefined ? money(one.amount, one.currency ?? 'USD') : ''
    moments.push({ at, what: ['Paid ', amount], className: 'soft' })
  }
  const history = found?.history ?? []
  for (const one of history) moments.push(historyMoment(one))
  if (found !== undefined && history.length === 0) {
    moments.push({ at: timeOf({ at: found.created_at }), what: ['The case was opened.'], className: '' })
  }
  const known = moments.filter(({ at }) => Number.isFinite(at)).sort((a, b) => b.at - a.at)
  const rows = known.slice(0, MOST).map(({ at, what, className }) => {
    const time = make('time', 'soft', ago(at))
    time.dateTime = new Date(at).toISOString()
    time.title = dateTime(at)
    return make('li', className, time, make('span', '', ...what))
  })
  const rest = known.length - rows.length
  where.replaceChildren(...rows, ...(rest > 0 ? [make('li', 'soft', `and ${rest} earlier ones`)] : []))
}

/**
 * An entry of the case's history. Entries differ in what they say, so the page shows whatever is there.
 * @param {any} entry
 * @returns {Moment}
 */
function historyMoment(entry) {
  const by = entry.by ?? entry.reporter ?? entry.changed_by ?? entry.actor
  const what = [entry.verdict ?? entry.action ?? entry.kind ?? entry.status].filter(Boolean).map((one) => capitalised(words(String(one))))
  if (entry.assigned_to) what.push(`assigned to ${entry.assigned_to}`)
  if (entry.verdict !== undefined && entry.status) what.push(words(String(entry.status)))
  /** @type {(Node | string)[]} */
  const parts = [isolated(what.join(', '))]
  if (by) parts.push(' by ', isolated(String(by)))
  if (entry.fraud_type) parts.push(' (', isolated(String(entry.fraud_type)), ')')
  if (entry.notes) parts.push(': ', isolated(String(entry.notes)))
  return { at: timeOf({ at: entry.at ?? entry.time ?? entry.created_at }), what: parts, className: '' }
}
