// @ts-check
/** @import { RulesWiring } from './queue.js' */
import { button, input, isolated, make, part, redraw, smallButton } from '../../../kit/page/browser/elements.js'
import { RequestFailed } from '../../../kit/page/browser/requests.js'
import { ask } from '../../../kit/page/browser/session.js'
import { ifUnchanged, ruleEditor } from './rule-editor.js'
import { count, dateTime, words } from './text.js'
import { versionList } from './versions.js'

/**
 * @typedef {object} Rule
 * @property {string} rule_id
 * @property {string} name
 * @property {string} condition
 * @property {'APPROVE' | 'REVIEW' | 'BLOCK' | 'STEP_UP'} action
 * @property {number} priority
 * @property {boolean} enabled
 * @property {'live' | 'shadow'} mode
 * @property {string | null} expires_at
 * @property {string} [updated_at]
 * @property {string | null} [fault] why the rule is not evaluated although it is enabled
 */

const NO_SUCH_RULE = { status: 404, code: 'rule_not_found', message: '', details: [], retryAfterS: 0, requestId: '' }

/**
 * Shows the rules and the rule editor.
 * @param {RulesWiring} wiring
 */
export function rulesView({ onFailure, onSuccess, background }) {
  /** @type {readonly Rule[]} */
  let rules = []
  let version = 0
  let isShown = false
  let isLoaded = false
  /** Counts requests for the list, so that a late answer does not replace a newer answer. */
  let asked = 0
  /** @type {string | undefined} */
  let wanted
  const editor = ruleEditor({ onFailure: onRefused, onSuccess, background, onSaved })
  const versions = versionList({ onFailure, onSuccess, background, onRestored })

  async function load() {
    const turn = ++asked
    try {
      const found = await ask('GET', `/api/v1/rules${input('all-rules').checked ? '?all=true' : ''}`)
      if (turn !== asked) return
      rules = found.rules
      version = found.ruleset_version
      isLoaded = true
      onSuccess()
      draw()
    } catch (error) {
      if (turn !== asked) return
      // The next call of `show` must read the data again.
      isLoaded = false
      onFailure(error)
    }
  }

  function draw() {
    const sought = input('rule-filter').value.trim().toLowerCase()
    const shown = rules.filter(({ rule_id, name, condition }) => `${rule_id} ${name} ${condition}`.toLowerCase().includes(sought))
    part('rules-summary').textContent = `${count(shown.length)} of ${count(rules.length)} rules, version ${version} of the rule set`
    redraw(part('rule-rows'), shown.map(rowOf), part('rules-summary'))
    openWanted()
  }

  /** @param {Rule} rule */
  function rowOf(rule) {
    const link = make('a', '', isolated(rule.rule_id))
    link.href = `#rule/${encodeURIComponent(rule.rule_id)}`
    link.dataset.focus = `rule ${rule.rule_id}`
    const name = make('th', '', link, make('div', 'soft', isolated(rule.name)))
    name.scope = 'row'
    const mode = rule.mode === 'live' ? 'shadow' : 'live'
    const buttons = make('td', 'buttons')
    if (rule.enabled) {
      buttons.append(labelled(mode === 'live' ? 'Go live' : 'To shadow', 'mode', rule, () => change(rule, { mode })))
      buttons.append(labelled('Disable', 'state', rule, () => change(rule, { enabled: false })))
    } else buttons.append(labelled('Enable', 'state', rule, () => change(rule, { enabled: true })))
    const action = make('td', '', make('span', `action ${rule.action.toLowerCase()}`, words(rule.action)))
    return make('tr', rule.enabled ? '' : 'soft', name, action, make('td', '', String(rule.priority)), stateCell(rule), buttons)
  }

  /**
   * Changes the mode of a rule, or enables or disables it. All other fields stay as they are on the server, where
   * somebody else may have changed them since the list was read.
   * @param {Rule} rule
   * @param {Partial<Rule>} changes
   */
  async function change(rule, changes) {
    const path = `/api/v1/rules/${encodeURIComponent(rule.rule_id)}`
    try {
      if (changes.enabled === false) await ask('DELETE', path)
      else {
        const current = await ask('GET', path)
        await ask('PUT', path, { ...bodyOf(current), ...changes }, ifUnchanged(current))
      }
      onSaved()
    } catch (error) {
      onFailure(error)
    }
  }

  function onSaved() {
    onSuccess()
    void load()
    versions.refresh()
  }

  /** @param {unknown} error */
  function onRefused(error) {
    // The list has the old rule, so it must be read again before the rule is opened again.
    if (error instanceof RequestFailed && error.failure.code === 'version_conflict') isLoaded = false
    onFailure(error)
  }

  function onRestored() {
    // The restored version may have changed or removed the open rule, so the editor is closed.
    if (editor.shows === undefined) editor.leave()
    else location.hash = '#rules'
    onSaved()
  }

  function openWanted() {
    if (wanted === undefined || !isShown) return
    const rule = rules.find(({ rule_id }) => rule_id === wanted)
    if (rule !== undefined) {
      if (editor.shows !== wanted) editor.open(rule)
    } else if (!input('all-rules').checked) {
      input('all-rules').checked = true
      void load()
    } else onFailure(new RequestFailed(NO_SUCH_RULE))
  }

  input('rule-filter').addEventListener('input', draw)
  input('all-rules').addEventListener('change', () => void load())
  button('new-rule').addEventListener('click', () => {
    if (location.hash !== '#rules') location.hash = '#rules'
    wanted = undefined
    editor.open(undefined)
  })

  return {
    /**
     * @param {boolean} visible
     * @param {string} [ruleId] the rule to open
     */
    show(visible, ruleId) {
      const isNew = visible && !isShown
      isShown = visible
      wanted = ruleId
      if (!visible) return editor.leave()
      // A click on a link to the open rule repeats the reads that have failed.
      if (ruleId !== undefined && editor.shows === ruleId) editor.readAgain()
      if (ruleId === undefined && editor.shows !== undefined) editor.leave()
      if (isNew || !isLoaded) void load()
      else openWanted()
    },
    get hasUnsaved() {
      return editor.hasUnsaved
    },
    /** Hides the rules, and discards all unsaved changes. */
    forget() {
      this.show(false)
      editor.forget()
    },
  }
}

/** Returns the fields of a rule that its author sets, as the body of a request. */
/** @param {Rule} rule */
function bodyOf({ rule_id, name, condition, action, priority, enabled, mode, expires_at }) {
  return { rule_id, name, condition, action, priority, enabled, mode, expires_at }
}

/** @param {Rule} rule */
function stateCell(rule) {
  const cell = make('td', '', stateOf(rule))
  if (rule.fault) cell.append(make('div', 'fault', 'not evaluated: ', isolated(rule.fault)))
  return cell
}

/** @param {Rule} rule */
function stateOf({ enabled, mode, expires_at }) {
  const hasExpired = expires_at !== null && new Date(expires_at).getTime() <= Date.now()
  const state = !enabled ? 'disabled' : hasExpired ? 'expired' : mode
  return expires_at === null || hasExpired ? state : `${state} until ${dateTime(expires_at)}`
}

/**
 * @param {string} label
 * @param {string} what the property that the button changes
 * @param {Rule} rule
 * @param {() => void} onClick
 */
function labelled(label, what, { rule_id }, onClick) {
  const made = smallButton(label, onClick)
  made.dataset.focus = `${what} of ${rule_id}`
  made.setAttribute('aria-label', `${label}: ${rule_id}`)
  return made
}
