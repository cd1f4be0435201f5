// @ts-check
import { isolated, make, part } from '../../../kit/page/browser/elements.js'
import { ask } from '../../../kit/page/browser/session.js'
import { row, table } from './table.js'
import { count, dateTime, percent } from './text.js'

/**
 * @typedef {object} Counts
 * @property {number} evaluated
 * @property {number} matched
 * @property {number} decided
 * @property {number} snoozed
 * @property {number} failed
 * @property {number} skipped
 * @property {number} missing
 * @property {Readonly<Record<string, number>>} missing_by
 */

/** @type {readonly [keyof Omit<Counts, 'missing_by'>, string][]} */
const ROWS = [
  ['evaluated', 'evaluated'],
  ['matched', 'matched'],
  ['decided', 'decided the outcome'],
  ['snoozed', 'snoozed'],
  ['failed', 'failed'],
  ['skipped', 'skipped for lack of time'],
  ['missing', 'values were missing'],
]

/**
 * Shows what a rule did in the last 7 days, such as how often it matched.
 * @param {{ onFailure: (error: unknown) => void }} wiring
 */
export function ruleStatistics({ onFailure }) {
  /** Counts the rules that were opened or closed, so that a late answer never appears under a different rule. */
  let opened = 0
  let hasFailed = false

  return {
    get hasFailed() {
      return hasFailed
    },
    /** @param {string} ruleId */
    async open(ruleId) {
      const turn = ++opened
      hasFailed = false
      part('rule-stats').hidden = false
      part('rule-counts').replaceChildren()
      try {
        const stats = await ask('GET', `/api/v1/rules/${encodeURIComponent(ruleId)}/stats`)
        if (turn === opened) draw(stats)
      } catch (error) {
        if (turn !== opened) return
        hasFailed = true
        onFailure(error)
      }
    },
    close() {
      opened++
      part('rule-stats').hidden = true
    },
  }
}

/** @param {{ since: string, live: Counts, shadow: Counts }} stats */
function draw({ since, live, shadow }) {
  const evaluated = live.evaluated + shadow.evaluated
  const missing = live.missing + shadow.missing
  if (evaluated === 0) {
    part('rule-counts').replaceChildren(make('p', 'soft', `The rule has not been evaluated since ${dateTime(since)}.`))
    return
  }
  const rows = ROWS.map(([name, title]) => row(title, count(live[name]), count(shadow[name])))
  const parts = [table(`Transactions since ${dateTime(since)}`, ['', 'Live', 'In shadow'], rows)]
  if (missing === evaluated) {
    const warning = 'The rule has not matched, because values that it reads were missing in every evaluation.'
    parts.unshift(make('p', 'problem', warning))
  }
  if (missing > 0) parts.push(missingTable(live, shadow, evaluated))
  part('rule-counts').replaceChildren(...parts)
}

/**
 * @param {Counts} live
 * @param {Counts} shadow
 * @param {number} evaluated
 */
function missingTable(live, shadow, evaluated) {
  const names = [...new Set([...Object.keys(live.missing_by), ...Object.keys(shadow.missing_by)])]
  const rows = names
    .map((name) => ({ name, times: (live.missing_by[name] ?? 0) + (shadow.missing_by[name] ?? 0) }))
    .sort((one, other) => other.times - one.times)
    .map(({ name, times }) => row(isolated(name), count(times), percent(times / evaluated)))
  return table('Missing values, by field', ['Field', 'Times', 'Share'], rows)
}
