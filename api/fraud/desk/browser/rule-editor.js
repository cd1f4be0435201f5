// @ts-check
/** @import { Rule } from './rules.js' */
/** @import { RulesWiring } from './queue.js' */
import { button, byId, focusOn, input, isolated, make, part } from '../../../kit/page/browser/elements.js'
import { onSubmit } from '../../../kit/page/browser/form.js'
import { RequestFailed } from '../../../kit/page/browser/requests.js'
import { ask } from '../../../kit/page/browser/session.js'
import { backtestForm } from './backtest.js'
import { conditionField } from './condition.js'
import { ruleStatistics } from './rule-statistics.js'
import { snoozesForm } from './snoozes.js'
import { localTime } from './text.js'

/** New rules begin in shadow mode, so that a mistake in a new rule blocks no payments. */
/** @type {Rule} */
const NEW_RULE = { rule_id: '', name: '', condition: '', action: 'REVIEW', priority: 100, enabled: true, mode: 'shadow', expires_at: null }

const FAULTY = 'The condition has an error.'

/**
 * What the form shows.
 * @typedef {object} Contents
 * @property {readonly string[]} values the values of the fields
 * @property {string} condition
 */

/**
 * What the author of a rule has entered but not saved. `base` is the rule that the author has changed, as it was read;
 * undefined for a new rule.
 * @typedef {{ base: Rule | undefined } & Contents} Draft
 */

/**
 * The form in which one rule is edited.
 * @param {RulesWiring & { onSaved: () => void }} wiring
 */
export function ruleEditor({ onFailure, onSuccess, background, onSaved }) {
  const condition = conditionField({ background, onEdited })
  const backtest = backtestForm({ onFailure, onSuccess, rule: current, onFaults })
  const statistics = ruleStatistics({ onFailure })
  const snoozes = snoozesForm({ onFailure, onSuccess })
  /** The open rule as it was read or saved last; undefined if no rule or a new rule is open. */
  /** @type {Rule | undefined} */
  let known
  /** Counts the rules that were opened or closed, so that a late answer does not affect the form of a different rule. */
  let opened = 0
  const fields = [
    ...['rule-id', 'rule-name', 'rule-priority', 'rule-expires'].map(input),
    ...['rule-action', 'rule-mode'].map((id) => byId(id, HTMLSelectElement)),
  ]
  /** The content of the form when the open rule was read or saved last. */
  let savedContent = ''
  /**
   * Unsaved changes of the rules that the author has left, keyed by the id of the rule. A new rule has the key ''.
   * @type {Map<string, Draft>}
   */
  const drafts = new Map()

  function draftOfForm() {
    return { base: known, values: fields.map(({ value }) => value), condition: condition.text }
  }

  /** @param {Contents} contents */
  function fill({ values, condition: text }) {
    for (const [index, value] of values.entries()) fields[index].value = value
    condition.open(text)
  }

  function hasUnsavedChanges() {
    return !part('rule-form').hidden && contentOf(draftOfForm()) !== savedContent
  }

  /** Returns the rule as the form describes it. */
  function current() {
    const expires = input('rule-expires').value
    // The field shows no seconds, so the exact time is kept unless the field has changed.
    const kept = known !== undefined && expires === expiryOf(known) ? known.expires_at : undefined
    return {
      rule_id: input('rule-id').value,
      name: input('rule-name').value,
      condition: condition.text,
      action: byId('rule-action', HTMLSelectElement).value,
      priority: Number(input('rule-priority').value),
      enabled: true,
      mode: byId('rule-mode', HTMLSelectElement).value,
      expires_at: kept ?? (expires === '' ? null : new Date(expires).toISOString()),
    }
  }

  async function save() {
    const rule = current()
    const sent = draftOfForm()
    const turn = opened
    const wasNew = known === undefined
    // The author may have left the rule and come back.
    const isOpen = () => turn === opened || (!part('rule-form').hidden && known === sent.base && input('rule-id').value === rule.rule_id)
    try {
      const saved =
        known === undefined
          ? await ask('POST', '/api/v1/rules', rule)
          : await ask('PUT', `/api/v1/rules/${encodeURIComponent(known.rule_id)}`, rule, ifUnchanged(known))
      if (!isOpen()) {
        settleDraft(sent, saved)
        return onSaved()
      }
      known = saved
      savedContent = contentOf(sent)
    } catch (error) {
      if (isOpen() && onFaults(error)) return
      if (isOpen() && isConflict(error)) await takeOver(sent, isOpen)
      throw error
    }
    onSuccess()
    condition.show([])
    say('Saved. All API processes will use the rule within seconds.')
    input('rule-id').readOnly = true
    part('rule-title').textContent = `Rule ${rule.rule_id}`
    onSaved()
    showRest(rule.rule_id)
    if (wasNew) history.replaceState(null, '', `#rule/${encodeURIComponent(rule.rule_id)}`)
  }

  /**
   * Takes over what somebody else has changed in a rule, so that the author can see it and save again. In fields that
   * the author has changed as well, the form keeps the author's values.
   * @param {Draft} sent the changes that were refused
   * @param {() => boolean} isOpen
   */
  async function takeOver({ base }, isOpen) {
    if (base === undefined) return
    const current = await ask('GET', `/api/v1/rules/${encodeURIComponent(base.rule_id)}`)
    // If the author has left the rule, nothing is taken over now. Saving the draft later leads to the same conflict.
    if (!isOpen() || known !== base) return
    const mine = draftOfForm()
    const [before, now] = [contentsOf(base), contentsOf(current)]
    known = current
    fill(now)
    savedContent = contentOf(draftOfForm())
    const kept = { values: now.values.map((value, index) => choose(mine.values[index], before.values[index], value)) }
    fill({ ...kept, condition: choose(mine.condition, before.condition, now.condition) })
    const changes = [...fields.map(labelOf), 'Condition'].flatMap((label, index) => {
      const [old, current] = [before, now].map(({ values, condition }) => [...values, condition][index])
      return old === current ? [] : [make('li', '', `${label}: `, isolated(current || '(none)'))]
    })
    const state = current.enabled ? '' : ' The rule is disabled. Saving enables it.'
    const head = `Somebody else has changed this rule. Your own changes are not saved yet.${state}`
    part('rule-news').replaceChildren(head, ...(changes.length === 0 ? [] : [make('ul', '', ...changes)]))
  }

  /**
   * Discards the draft of a rule that the author left before the rule was saved. If the draft contains changes that the
   * author made after sending the rule, the draft is kept, with the saved rule as its base.
   * @param {Draft} sent
   * @param {Rule} saved
   */
  function settleDraft(sent, saved) {
    const key = keyOf(sent.base)
    const draft = drafts.get(key)
    if (draft === undefined || draft.base !== sent.base) return
    drafts.delete(key)
    if (contentOf(draft) !== contentOf(sent)) drafts.set(saved.rule_id, { ...draft, base: saved })
  }

  /**
   * Marks the errors of a refused condition in the text.
   * @param {unknown} error
   * @returns {boolean} whether the error was about the condition
   */
  function onFaults(error) {
    if (!(error instanceof RequestFailed) || error.failure.code !== 'invalid_condition') return false
    condition.show(error.failure.details)
    const [first] = error.failure.details
    if (first !== undefined) condition.point(first)
    say(FAULTY)
    return true
  }

  function onEdited() {
    if (part('rule-news').textContent === FAULTY) say('')
  }

  /** @param {string} news */
  function say(news) {
    part('rule-news').textContent = news
  }

  /** Shows the statistics and snoozes, which only an existing rule has. */
  /** @param {string | undefined} ruleId */
  function showRest(ruleId) {
    for (const one of [statistics, snoozes]) {
      if (ruleId === undefined) one.close()
      else void one.open(ruleId)
    }
  }

  /** Closes the form. Unsaved changes appear again when the rule is opened again. */
  function leave() {
    if (hasUnsavedChanges()) drafts.set(keyOf(known), draftOfForm())
    close()
  }

  /** Closes the form, and discards unsaved changes. */
  function close() {
    opened++
    known = undefined
    part('rule-form').hidden = true
    part('backtest').hidden = true
    backtest.stop()
    showRest(undefined)
  }

  onSubmit('rule-form', save, onFailure)
  button('close-rule').addEventListener('click', () => {
    const link = `rule ${keyOf(known)}`
    close()
    // A new fragment removes the focus, so the focus is set afterwards.
    if (location.hash !== '#rules') location.hash = '#rules'
    if (!focusOn(link)) button('new-rule').focus()
  })

  return {
    get shows() {
      return known?.rule_id
    },
    get hasUnsaved() {
      return drafts.size > 0 || hasUnsavedChanges()
    },
    leave,
    /** Closes the form, and discards the unsaved changes of all rules. */
    forget() {
      close()
      drafts.clear()
    },
    /** Reads the statistics and the snoozes of the open rule again if reading them has failed. */
    readAgain() {
      const failed = [statistics, snoozes].filter((one) => one.hasFailed)
      if (known === undefined || failed.length === 0) return
      onSuccess()
      for (const one of failed) void one.open(known.rule_id)
    },
    /** @param {Rule | undefined} rule undefined opens a new rule */
    open(rule) {
      leave()
      const draft = drafts.get(keyOf(rule))
      drafts.delete(keyOf(rule))
      known = draft === undefined ? rule : draft.base
      part('rule-title').textContent = rule === undefined ? 'New rule' : `Rule ${rule.rule_id}`
      input('rule-id').readOnly = rule !== undefined
      fill(contentsOf(known ?? NEW_RULE))
      savedContent = contentOf(draftOfForm())
      if (draft !== undefined) fill(draft)
      const news = [
        ...(draft === undefined ? [] : ['These changes are not saved yet.']),
        ...(known?.enabled === false ? ['This rule is disabled. Saving enables it.'] : []),
      ]
      say(news.join(' '))
      part('rule-form').hidden = false
      part('backtest').hidden = false
      backtest.reset()
      showRest(rule?.rule_id)
      if (rule === undefined) input('rule-id').focus()
      else byId('condition', HTMLTextAreaElement).focus()
      part('rule-form').scrollIntoView({ block: 'start' })
    },
  }
}

/** @param {Rule | undefined} rule undefined for a new rule */
const keyOf = (rule) => rule?.rule_id ?? ''

/**
 * Returns what the form shows for a rule. The values are in the same order as the fields of the form.
 * @param {Rule} rule
 * @returns {Contents}
 */
function contentsOf(rule) {
  return { values: [rule.rule_id, rule.name, String(rule.priority), expiryOf(rule), rule.action, rule.mode], condition: rule.condition }
}

/**
 * Returns the author's value if the author has changed it, and the current value otherwise.
 * @param {string} mine
 * @param {string} before
 * @param {string} now
 */
const choose = (mine, before, now) => (mine === before ? now : mine)

/** @param {HTMLInputElement | HTMLSelectElement} field */
const labelOf = ({ labels }) => labels?.[0]?.firstChild?.textContent?.trim() ?? ''

/** @param {unknown} error */
const isConflict = (error) => error instanceof RequestFailed && error.failure.code === 'version_conflict'

/** @param {Contents} contents */
const contentOf = ({ values, condition }) => JSON.stringify([values, condition])

/**
 * Returns when a rule expires, as the value of a `datetime-local` field.
 * @param {Rule} rule
 */
function expiryOf({ expires_at }) {
  return expires_at === null ? '' : localTime(new Date(expires_at))
}

/**
 * Returns the header that makes the server replace a rule only if nobody has changed it since it was read; empty for a
 * new rule.
 * @param {Rule | undefined} rule the rule as it was read
 * @returns {Record<string, string>}
 */
export function ifUnchanged(rule) {
  return rule?.updated_at === undefined ? {} : { 'If-Match': `"${Date.parse(rule.updated_at)}"` }
}
