// @ts-check
import { isolated, make } from '../../../kit/page/browser/elements.js'
import { session } from '../../../kit/page/browser/session.js'
import { row, table } from './table.js'
import { count, percent, words } from './text.js'

/** @type {readonly string[]} */
const LABELS = ['fraud', 'legitimate', 'unlabelled']

/**
 * @param {HTMLElement} where
 * @param {any} report
 */
export function drawReport(where, report) {
  const found = report ?? {}
  const parts = [make('p', '', summaryOf(found)), ...(found.notes ?? []).map((/** @type {string} */ note) => make('p', 'soft', note))]
  if (found.would_be && found.logged) parts.push(decisionsTable(found.logged, found.would_be))
  if (Array.isArray(found.confusion)) parts.push(confusionTable(found.confusion))
  if (found.quality) parts.push(qualityTable(found.quality))
  if (Array.isArray(found.changes) && found.changes.length > 0) parts.push(changesTable(found.changes))
  for (const { rule_id, faults } of found.set_aside ?? []) {
    parts.push(make('p', 'problem', 'Not evaluated: ', isolated(rule_id), ': ', isolated(faults.join('; '))))
  }
  where.replaceChildren(...parts)
}

/** @param {any} found */
function summaryOf({ transactions = 0, changed, would_be: wouldBe }) {
  const changes = changed === undefined ? '' : `, of which ${count(changed)} would be decided differently`
  const rate = wouldBe?.block_rate === undefined ? '' : ` ${percent(wouldBe.block_rate)} would be blocked.`
  return `${count(transactions)} transactions were judged again${changes}.${rate}`
}

/**
 * @param {any} logged
 * @param {any} wouldBe
 */
function decisionsTable(logged, wouldBe) {
  /** @type {[string, string, (value: any) => string][]} */
  const rows = [
    ['approve', 'approved', count],
    ['review', 'reviewed', count],
    ['block', 'blocked', count],
    ['requires_3ds', 'step-up', count],
    ['review_rate', 'share reviewed', percent],
    ['block_rate', 'share blocked', percent],
  ]
  const body = rows.map(([name, title, format]) => row(title, format(logged[name] ?? 0), format(wouldBe[name] ?? 0)))
  return table('Decisions', ['', 'As logged', 'With the rule'], body)
}

/** @param {readonly any[]} cells */
function confusionTable(cells) {
  const decisions = [...new Set(cells.map(({ decision }) => decision))]
  const body = decisions.map((decision) =>
    row(
      words(decision),
      ...LABELS.map((label) => {
        const cell = cells.find((one) => one.decision === decision && one.label === label)
        return make('span', '', count(cell?.count ?? 0), ...examplesOf(cell?.examples ?? []))
      }),
    ),
  )
  return table('Decisions with the rule, by verdict', ['', 'Fraud', 'Legitimate', 'No final verdict'], body)
}

/** @param {any} quality */
function qualityTable(quality) {
  const body = Object.entries(quality).map(([name, one]) =>
    row(words(name), percent(one.recall), percent(one.precision), percent(one.false_positive_rate)),
  )
  return table('Quality', ['', 'Recall', 'Precision', 'False positives'], body)
}

/** @param {readonly any[]} changes */
function changesTable(changes) {
  const body = changes.map(({ logged, would_be: wouldBe, count: times, examples }) =>
    row(`${words(logged)} → ${words(wouldBe)}`, count(times), make('span', '', ...examplesOf(examples ?? []))),
  )
  return table('Changed decisions', ['', 'Transactions', 'Examples'], body)
}

/** @param {readonly string[]} ids */
function examplesOf(ids) {
  return ids.flatMap((id) => {
    if (!session.may('fraud:analyst')) return [' ', isolated(id)]
    const link = make('a', 'example', isolated(id))
    link.href = `#transaction/${encodeURIComponent(id)}`
    return [' ', link]
  })
}
