// @ts-check
/** @import { RulesWiring } from './queue.js' */
import { byId, input, isolated, make, part } from '../../../kit/page/browser/elements.js'
import { ask } from '../../../kit/page/browser/session.js'

/** How long the author must stop typing before the condition is checked. */
const PAUSE_MS = 300
const MOST_FIELDS = 30

/**
 * @typedef {object} Fault
 * @property {string} message
 * @property {number} line from 1
 * @property {number} column from 1, in characters
 * @property {number} start UTF-16 offset
 * @property {number} end
 * @property {readonly string[]} [expected]
 * @property {string | null} [nearest]
 */

/**
 * Manages the text field of a condition, and underlines the faulty parts.
 * @param {Pick<RulesWiring, 'background'> & { onEdited: () => void }} wiring
 */
export function conditionField({ background, onEdited }) {
  const checking = background()
  const listing = background()
  const field = byId('condition', HTMLTextAreaElement)
  const marks = part('condition-marks')
  /** Counts checks, so that a late answer never marks errors in a newer text. */
  let checks = 0
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer
  /** @type {{ name: string, type: string, description?: string }[] | undefined} */
  let fields

  async function check() {
    const turn = ++checks
    const condition = field.value
    if (condition.trim() === '') return checked([])
    try {
      const { faults } = await ask('POST', '/api/v1/rules/validate', { condition })
      if (turn === checks) checked(faults)
    } catch (error) {
      if (turn === checks) checking.onFailure(error)
    }
  }

  /**
   * Shows the result of a check, and removes the message about an earlier check that has failed.
   * @param {readonly Fault[]} faults
   */
  function checked(faults) {
    checking.onSuccess()
    show(faults)
  }

  /** @param {readonly Fault[]} faults */
  function show(faults) {
    field.setAttribute('aria-invalid', String(faults.length > 0))
    drawMarks(faults)
    part('faults').replaceChildren(...faults.map(lineOf))
  }

  /** @param {Fault} fault */
  function lineOf(fault) {
    const { line, column, start, end, message, expected = [], nearest } = fault
    const place = make('button', 'link', `line ${line}, column ${column}`)
    place.type = 'button'
    place.addEventListener('click', () => select(start, Math.max(end, start)))
    const entry = make('li', '', place, ': ', isolated(message))
    if (nearest) {
      const fix = make('button', 'link', `Use ${nearest}`)
      fix.type = 'button'
      // If the faulty part is a string, it includes the quotes. The suggestion has no quotes, so they are added.
      const quote = /^['"]/.exec(field.value.slice(start, end))?.[0] ?? ''
      fix.addEventListener('click', () => replace(start, end, `${quote}${nearest}${quote}`))
      entry.append(' ', fix)
    } else if (expected.length > 0) entry.append(make('span', 'soft', ` Expected: ${expected.join(', ')}.`))
    return entry
  }

  /** Draws a copy of the text behind the field, with the faulty parts underlined. */
  /** @param {readonly Fault[]} faults */
  function drawMarks(faults) {
    const { value } = field
    const parts = []
    let done = 0
    for (const { start, end } of [...faults].sort((a, b) => a.start - b.start)) {
      if (start < done) continue
      // An error at the end of the text covers no character, so an extra space is underlined.
      const until = Math.max(end, start + 1)
      parts.push(value.slice(done, start), make('mark', '', value.slice(start, until) || '\u00a0'))
      done = until
    }
    marks.replaceChildren(...parts, `${value.slice(done)}\n`)
    marks.scrollTop = field.scrollTop
  }

  /**
   * @param {number} start
   * @param {number} end
   */
  function select(start, end) {
    field.focus()
    field.setSelectionRange(start, end)
  }

  /**
   * @param {number} start
   * @param {number} end
   * @param {string} text
   */
  function replace(start, end, text) {
    field.setRangeText(text, start, end, 'end')
    field.focus()
    onInput()
  }

  function onInput() {
    checks++
    drawMarks([])
    // The positions of the known errors no longer match the text.
    for (const one of part('faults').querySelectorAll('button')) one.disabled = true
    clearTimeout(timer)
    timer = setTimeout(check, PAUSE_MS)
    onEdited()
  }

  async function showFields() {
    try {
      fields ??= (await ask('GET', '/api/v1/rules/fields')).fields
      listing.onSuccess()
    } catch (error) {
      return listing.onFailure(error)
    }
    const sought = input('field-filter').value.trim().toLowerCase()
    const found = (fields ?? []).filter(({ name, description = '' }) => `${name} ${description}`.toLowerCase().includes(sought))
    const entries = found.slice(0, MOST_FIELDS).map(({ name, type, description }) => {
      const insert = make('button', 'link', name)
      insert.type = 'button'
      insert.addEventListener('click', () => replace(field.selectionStart, field.selectionEnd, name))
      return make('li', '', insert, make('span', 'soft', ` ${type}${description ? `: ${description}` : ''}`))
    })
    const rest = found.length - entries.length
    part('field-list').replaceChildren(...entries, ...(rest > 0 ? [make('li', 'soft', `and ${rest} more`)] : []))
  }

  field.addEventListener('input', onInput)
  field.addEventListener('scroll', () => {
    marks.scrollTop = field.scrollTop
  })
  byId('field-part', HTMLDetailsElement).addEventListener('toggle', () => void showFields())
  input('field-filter').addEventListener('input', () => void showFields())

  return {
    get text() {
      return field.value
    },
    /** @param {string} text */
    open(text) {
      clearTimeout(timer)
      checks++
      field.value = text
      checked([])
    },
    show,
    /** @param {Fault} fault */
    point: ({ start, end }) => select(start, end),
  }
}
