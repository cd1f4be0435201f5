// @ts-check
/** @import { RulesWiring } from './queue.js' */
import { byId, isolated, make, part, redraw } from '../../../kit/page/browser/elements.js'
import { ask } from '../../../kit/page/browser/session.js'
import { askAgain } from './ask-again.js'
import { row, table } from './table.js'
import { count, dateTime, words } from './text.js'

/**
 * @typedef {object} Version
 * @property {number} version
 * @property {string} changed_by
 * @property {string} at
 * @property {string} action
 * @property {string | null} rule_id
 * @property {number} rules
 */

/**
 * Shows the last 50 versions of the rule set. The list is loaded only while this part of the page is open.
 * @param {RulesWiring & { onRestored: () => void }} wiring
 */
export function versionList({ onFailure, onSuccess, background, onRestored }) {
  const whole = byId('version-part', HTMLDetailsElement)
  const listing = background()

  async function load() {
    if (!whole.open) return
    try {
      const { versions } = await ask('GET', '/api/v1/rules/versions')
      const heads = ['Version', 'When', 'By', 'Change', 'Rules', '']
      redraw(part('version-list'), [table('The last 50 versions, newest first', heads, versions.map(rowOf))])
      listing.onSuccess()
    } catch (error) {
      listing.onFailure(error)
    }
  }

  /**
   * @param {Version} one
   * @param {number} index
   */
  function rowOf({ version, at, changed_by, action, rule_id, rules }, index) {
    const change = make('span', '', words(action), ...(rule_id === null ? [] : [' ', isolated(rule_id)]))
    const restore = askAgain(`Restore ${version}`, `Replace all rules with version ${version}?`, () => restored(version))
    // Version 0, with the seeded rules, has no time.
    const when = Date.parse(at) === 0 ? '–' : dateTime(at)
    const last = index === 0 ? 'in force' : restore
    return row(String(version), when, isolated(changed_by), change, count(rules), last)
  }

  /** @param {number} version */
  async function restored(version) {
    try {
      const { ruleset_version } = await ask('POST', '/api/v1/rules/rollback', { version })
      onSuccess()
      onRestored()
      part('version-news').textContent = `Version ${ruleset_version} has the rules of version ${version}, and is in force.`
    } catch (error) {
      onFailure(error)
    }
  }

  /**
   * Reads the list again. Removes the message about a restored version, because that version may no longer be in force.
   */
  function refresh() {
    part('version-news').textContent = ''
    void load()
  }

  whole.addEventListener('toggle', refresh)
  return { refresh }
}
