// @ts-check
/** @import { Wiring } from './queue.js' */
import { byId, input, isolated, make, part, redraw, smallButton } from '../../../kit/page/browser/elements.js'
import { onSubmit } from '../../../kit/page/browser/form.js'
import { ask } from '../../../kit/page/browser/session.js'
import { row, table } from './table.js'
import { dateTime, words } from './text.js'

/**
 * @typedef {object} Snooze
 * @property {string} snooze_id
 * @property {string} entity_type
 * @property {string} entity_value
 * @property {string} until
 * @property {string | null} reason
 * @property {string} created_by
 */

/** Maximum number of snoozes in the list. Nobody reads more at once. The API returns the snoozes that end first. */
const MOST_LISTED = 100

/**
 * Shows and changes the snoozes of a rule. A snooze makes the rule skip one entity for some hours.
 * @param {Wiring} wiring
 */
export function snoozesForm({ onFailure, onSuccess }) {
  /** @type {string | undefined} */
  let ruleId
  /** Whether the list could not be read. */
  let hasFailed = false

  /** @param {string} id */
  const pathOf = (id) => `/api/v1/rules/${encodeURIComponent(id)}/snoozes`

  async function load() {
    const id = ruleId
    if (id === undefined) return
    hasFailed = false
    try {
      const { snoozes, total } = await ask('GET', `${pathOf(id)}?limit=${MOST_LISTED}`)
      if (id === ruleId) draw(snoozes, total)
    } catch (error) {
      if (id !== ruleId) return
      hasFailed = true
      onFailure(error)
    }
  }

  /**
   * @param {readonly Snooze[]} snoozes
   * @param {number} total
   */
  function draw(snoozes, total) {
    if (total === 0) {
      redraw(part('snooze-list'), [make('p', 'soft', 'The rule has no snoozes.')])
      return
    }
    const rest = total - snoozes.length
    redraw(part('snooze-list'), [
      table('Snoozes', ['Entity', 'Until', 'By', 'Reason', ''], snoozes.map(rowOf)),
      ...(rest > 0 ? [make('p', 'soft', `and ${rest} more with a later end`)] : []),
    ])
  }

  /** @param {Snooze} snooze */
  function rowOf({ snooze_id, entity_type, entity_value, until, reason, created_by }) {
    const entity = make('span', '', `${words(entity_type)} `, isolated(entity_value))
    const end = smallButton('End', () => void change('DELETE', `/${encodeURIComponent(snooze_id)}`).catch(onFailure))
    end.setAttribute('aria-label', `End the snooze of ${entity_value}`)
    return row(entity, dateTime(until), isolated(created_by), isolated(reason ?? '–'), end)
  }

  /**
   * @param {string} method
   * @param {string} rest the end of the path, after the path of the snoozes
   * @param {object} [body]
   */
  async function change(method, rest, body) {
    if (ruleId === undefined) return
    await ask(method, `${pathOf(ruleId)}${rest}`, body)
    onSuccess()
    await load()
  }

  async function snooze() {
    const reason = input('snooze-reason').value.trim()
    await change('POST', '', {
      entity_type: byId('snooze-type', HTMLSelectElement).value,
      entity_value: input('snooze-value').value.trim(),
      hours: Number(input('snooze-hours').value),
      ...(reason !== '' && { reason }),
    })
    for (const id of ['snooze-value', 'snooze-reason']) input(id).value = ''
  }

  onSubmit('snooze-form', snooze, onFailure)

  return {
    get hasFailed() {
      return hasFailed
    },
    /** @param {string} id the id of the rule */
    open(id) {
      ruleId = id
      part('snooze-form').hidden = false
      part('snooze-list').replaceChildren()
      void load()
    },
    close() {
      ruleId = undefined
      part('snooze-form').hidden = true
    },
  }
}
