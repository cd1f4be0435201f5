// @ts-check
/** @import { Dossier } from './case.js' */
import { isolated, make } from '../../../kit/page/browser/elements.js'
import { ago, capitalised, dateTime, money, words } from './text.js'

/** Maximum number of entries. Some users have more transactions than anybody reads. */
const MOST = 60

/** @typedef {{ at: string, what: (Node | string)[], className: string }} Moment */

/**
 * Shows the user's transactions and the history of the case, newest first.
 * @param {HTMLElement} where
 * @param {Dossier} dossier
 */
export function drawTimeline(where, { found, transaction, others }) {
  /** @type {Moment[]} */
  const moments = [...(others ?? []).map(paymentMoment), ...(found?.history ?? []).map(historyMoment)]
  if (transaction !== undefined) {
    const { timestamp, amount, currency } = transaction.request
    moments.push({ at: timestamp, what: ['This transaction: ', money(amount, currency)], className: 'own' })
  }
  moments.sort((a, b) => Date.parse(b.at) - Date.parse(a.at))
  const rows = moments.slice(0, MOST).map(({ at, what, className }) => {
    const time = make('time', 'soft', ago(at))
    time.dateTime = at
    time.title = dateTime(at)
    return make('li', className, time, make('span', '', ...what))
  })
  const rest = moments.length - rows.length
  if (rest > 0) rows.push(make('li', 'soft', `and ${rest} earlier`))
  const problem = missingOthers(others)
  if (problem !== '') rows.push(make('li', 'soft', problem))
  where.replaceChildren(...rows)
}

/**
 * Returns why the other transactions of a user are not shown; empty if they are shown.
 * @param {Dossier['others']} others
 */
export function missingOthers(others) {
  if (others === undefined) return "The user's other transactions are being read."
  return others === null ? "The user's other transactions are not available." : ''
}

/**
 * @param {any} payment another transaction of the user
 * @returns {Moment}
 */
function paymentMoment({ transaction_id, timestamp, amount, currency, merchant_id, decision, risk_score }) {
  const link = make('a', '', money(amount, currency))
  link.href = `#transaction/${encodeURIComponent(transaction_id)}`
  const to = merchant_id === null ? [] : [' to ', isolated(merchant_id)]
  return { at: timestamp, what: [link, ...to, `, ${words(decision)}, ${risk_score}`], className: 'soft' }
}

/**
 * @param {any} entry
 * @returns {Moment}
 */
function historyMoment({ at, actor, action, status, assigned_to, verdict, fraud_type, notes }) {
  const change = action === 'opened' ? 'Case opened' : `Case ${action}, ${words(status)}`
  const what = action === 'verdict' ? `Verdict ${words(verdict)}` : change
  /** @type {(Node | string)[]} */
  const parts = [capitalised(what)]
  if (actor !== null) parts.push(' by ', isolated(actor))
  if (action === 'changed' && assigned_to !== null) parts.push(', assigned to ', isolated(assigned_to))
  if (action === 'verdict' && fraud_type !== null) parts.push(' (', isolated(fraud_type), ')')
  if (notes !== '' && action !== 'opened') parts.push(': ', isolated(notes))
  return { at, what: parts, className: '' }
}
