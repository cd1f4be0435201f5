// @ts-check
/** @import { Case } from './queue.js' */
import { isolated, make } from '../../../kit/page/browser/elements.js'
import { session } from '../../../kit/page/browser/session.js'
import { number, percent, words } from './text.js'

const PERCENT = 100
/** Prefix of the names of factors that are rules. */
const RULE = 'rule:'
/** Explanations of the decision, keyed by `reason`. */
/** @type {Readonly<Record<string, string>>} */
const REASONS = {
  blocklist_hit: 'An entity of the transaction is on the blocklist.',
  rule: 'A rule decided.',
  models: 'The models decided.',
  default_profile: "The user's profile was not available, and the amount is high.",
  no_risk_found: 'No risk was found.',
}
/** @type {[string, string][]} */
const MODELS = [
  ['payment_fraud', 'Payment fraud'],
  ['account_takeover', 'Account take-over'],
  ['money_laundering', 'Money laundering'],
]

/**
 * Shows the reasons for the score and the decision: rules, factors and models.
 * @param {HTMLElement} where
 * @param {any} answer the answer to the scoring request; undefined if the transaction could not be loaded
 * @param {Case | undefined} found
 */
export function drawReasons(where, answer, found) {
  const rules = answer?.triggered_rules ?? found?.triggered_rules ?? []
  const factors = answer?.risk_factors ?? found?.risk_factors ?? []
  const parts = []
  if (answer?.reason) parts.push(make('p', '', REASONS[answer.reason] ?? `Decided by: ${words(answer.reason)}.`))
  if (rules.length > 0) parts.push(make('p', '', 'Rules: ', ...rules.flatMap(ruleName)))
  parts.push(
    ...bars(
      'Strongest factors',
      factors.map((/** @type {any} */ { factor, contribution }) => ({ name: factor, value: contribution })),
    ),
  )
  if (answer?.ml_scores?.evaluated === true) {
    parts.push(
      ...bars(
        'Models',
        MODELS.map(([name, title]) => ({ name: title, value: answer.ml_scores[name] })),
        percent,
        1,
      ),
    )
  } else if (answer !== undefined) parts.push(make('p', 'soft', 'The models did not score this transaction.'))
  where.replaceChildren(...parts)
}

/**
 * @param {string} id
 * @param {number} index
 */
function ruleName(id, index) {
  const comma = index === 0 ? [] : [', ']
  if (!session.may('fraud:ops')) return [...comma, isolated(id)]
  const link = make('a', '', isolated(id))
  link.href = `#rule/${encodeURIComponent(id)}`
  return [...comma, link]
}

/**
 * @param {string} title
 * @param {readonly { name: string, value: number }[]} values
 * @param {(value: number) => string} format
 * @param {number} [full] the value of a full bar; by default, the highest value
 */
function bars(title, values, format = number, full = Math.max(...values.map(({ value }) => Math.abs(value)))) {
  if (values.length === 0) return []
  const rows = values.map(({ name, value }) => {
    const bar = make('span', value < 0 ? 'bar lowers' : 'bar')
    bar.style.setProperty('--share', `${full > 0 ? Math.min(1, Math.abs(value) / full) * PERCENT : 0}%`)
    bar.setAttribute('aria-hidden', 'true')
    return make(
      'li',
      '',
      make('span', '', isolated(name.startsWith(RULE) ? `rule ${name.slice(RULE.length)}` : words(name))),
      bar,
      make('span', 'value', format(value)),
    )
  })
  return [make('h4', '', title), make('ul', 'bars', ...rows)]
}
