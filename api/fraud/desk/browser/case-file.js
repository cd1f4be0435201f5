// @ts-check
/** @import { Dossier } from './case.js' */
import { isolated, make, part, redraw, smallButton } from '../../../kit/page/browser/elements.js'
import { session } from '../../../kit/page/browser/session.js'
import { levelOf } from './queue.js'
import { ago, capitalised, dateTime, money, shown, words } from './text.js'

/**
 * @param {Dossier} dossier
 * @param {(assignee: string | null) => void} assign
 */
export function drawHead({ found, transaction }, assign) {
  const answer = transaction?.answer
  const score = found?.risk_score ?? answer?.risk_score ?? 0
  const amount = found ?? transaction?.request
  const title = make('h2', '', money(amount.amount, amount.currency), ' ', make('span', `badge ${levelOf(score)}`, `${score}`))
  title.append(' ', make('span', 'soft', words(found?.decision ?? answer?.decision ?? '')))
  const lines = [title]
  const id = found?.transaction_id ?? transaction.transaction_id
  const at = transaction?.request?.timestamp ?? found?.created_at
  const line = make('p', 'soft', 'Transaction ', isolated(id))
  if (at !== undefined) line.append(` · ${dateTime(at)} (${ago(at)})`)
  lines.push(line)
  if (found !== undefined) {
    const state = make('p', 'inline', make('span', '', capitalised(words(found.status))))
    state.append(make('span', 'soft', found.assigned_to === null ? 'assigned to nobody' : 'assigned to '))
    if (found.assigned_to !== null) state.append(isolated(found.assigned_to))
    const me = session.current?.subject ?? ''
    const isMine = found.assigned_to === me
    const toggle = smallButton(isMine ? 'Release' : 'Assign to me', () => assign(isMine ? null : me))
    toggle.dataset.focus = 'assignee'
    state.append(toggle)
    lines.push(state)
  }
  const degraded = answer?.degraded ?? []
  if (degraded.length > 0) lines.push(make('p', 'note', `Scored without: ${degraded.map(words).join(', ')}.`))
  redraw(part('case-head'), lines)
}

/** Groups of fields in the request, each with the name that the page shows. */
/** @type {[string, string][]} */
const GROUPS = [
  ['payer', 'Payer'],
  ['payee', 'Payee'],
  ['payment_instrument', 'Instrument'],
  ['device', 'Device'],
  ['session', 'Session'],
]
/** Fields whose values the page shows elsewhere. */
const ELSEWHERE = new Set(['transaction_id', 'amount', 'currency', 'geo_location', 'lat', 'lng'])

/** @param {Dossier} dossier */
export function drawFacts({ transaction, profile }) {
  const request = transaction?.request
  const groups = GROUPS.flatMap(([name, title]) => group(title, request?.[name]))
  const top = entries({ transaction_type: request?.transaction_type })
  part('transaction').replaceChildren(
    ...(request === undefined ? [away('transaction')] : [...top, ...groups, ...group('Address', transaction.ip)]),
  )
  part('user').replaceChildren(...(profile === undefined ? [away('profile')] : entries(flat(profile))))
  part('features').replaceChildren(...entries(transaction?.features ?? {}))
  // The features of a transaction that is older than 30 days are null.
  part('features-part').hidden = !transaction?.features
}

/** @param {string} what */
function away(what) {
  return make('div', 'soft', `The ${what} is not available.`)
}

/** Returns the profile without lists of objects, which would be too long here. */
/** @param {Record<string, unknown>} profile */
function flat(profile) {
  return Object.fromEntries(Object.entries(profile).filter(([, value]) => !(Array.isArray(value) && typeof value[0] === 'object')))
}

/**
 * @param {string} title
 * @param {Record<string, unknown> | null | undefined} values
 */
function group(title, values) {
  const rows = entries(values ?? {})
  return rows.length === 0 ? [] : [make('div', 'group', title), ...rows]
}

/**
 * Returns the names and values as entries of a description list. Leaves out undefined values, and values that the page
 * shows elsewhere.
 * @param {Record<string, unknown>} values
 */
function entries(values) {
  return Object.entries(values)
    .filter(([name, value]) => value !== undefined && !ELSEWHERE.has(name))
    .map(([name, value]) => {
      const isMissing = value === null
      return make('div', isMissing ? 'soft' : '', make('dt', '', words(name)), make('dd', '', isolated(shown(value))))
    })
}
