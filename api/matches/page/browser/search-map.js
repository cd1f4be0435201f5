// @ts-check
/** @import { Failure } from '../../../kit/page/browser/requests.js' */

import { input, make, part } from '../../../kit/page/browser/elements.js'
import { ask } from './client.js'
import { failureOf } from './deck.js'
import { onSubmit } from './forms.js'
import { drawMap } from './map-drawing.js'
import { reasonText } from './messages.js'

/**
 * @typedef {object} SearchedCell
 * @property {string} geohash
 * @property {{ south: number, west: number, north: number, east: number }} bounds
 * @property {number} examined
 * @property {number} passed
 * @property {Record<string, number>} excluded
 * @property {{ user_id: string, excluded_by: string | null }[]} people
 */

/** @typedef {{ user: string, examined: number, passed: number, cells: SearchedCell[] }} Search */

/** Zoom levels of the map. Each level shows all cells of a precision. */
const PARTS = [
  { precision: 6, name: 'Quarter (about 3 km)' },
  { precision: 5, name: 'Town (about 15 km)' },
  { precision: 4, name: 'All' },
]

/**
 * Shows administrators which cells a search visits, and why it excludes users whom it finds there.
 * @param {object} wiring
 * @param {(failure: Failure) => void} wiring.onFailure
 * @param {() => void} wiring.onSuccess
 */
export function searchMap({ onFailure, onSuccess }) {
  const detail = part('cell')
  /** @type {ReturnType<typeof drawMap> | undefined} */
  let drawing

  async function search() {
    const user = input('search-user').value.trim()
    // Hides the map of the previous search. Otherwise, if this search fails, the old map would look like the map of
    // this user.
    hide()
    try {
      /** @type {Search} */
      const found = await ask('GET', `feed/explain?user=${encodeURIComponent(user)}`)
      onSuccess()
      show(found)
    } catch (error) {
      if (failureOf(error).code !== 'profile_not_found') throw error
      onSuccess()
      part('search-summary').textContent = 'This user has no profile.'
    }
  }

  function hide() {
    drawing = undefined
    part('search-summary').textContent = ''
    part('search-result').hidden = true
    for (const id of ['map', 'cell', 'zoom', 'cells']) part(id).replaceChildren()
  }

  /** @param {Search} found */
  function show(found) {
    part('search-summary').textContent = summaryOf(found)
    part('search-result').hidden = false
    drawing = drawMap(found.cells, (cell) => choose(cell, found))
    part('map').replaceChildren(drawing.svg, legend())
    detail.replaceChildren(make('p', 'soft', 'Choose a cell on the map or in the table to see why its users were excluded.'))
    const used = PARTS.filter(({ precision }) => found.cells.some(({ geohash }) => geohash.length === precision))
    part('zoom').replaceChildren(...used.map(({ precision, name }) => zoomButton(precision, name)))
    zoomTo(used.at(-1)?.precision ?? 4)
    const rows = found.cells.filter(({ examined }) => examined > 0).map((cell) => rowOf(cell, found))
    part('cells').replaceChildren(...rows)
  }

  /**
   * @param {number} precision
   * @param {string} name
   */
  function zoomButton(precision, name) {
    const one = make('button', '', name)
    one.type = 'button'
    one.dataset.precision = String(precision)
    one.addEventListener('click', () => zoomTo(precision))
    return one
  }

  /** @param {number} precision */
  function zoomTo(precision) {
    drawing?.zoomTo(precision)
    for (const one of part('zoom').children)
      one.setAttribute('aria-pressed', String(/** @type {HTMLElement} */ (one).dataset.precision === String(precision)))
  }

  /**
   * @param {SearchedCell} cell
   * @param {Search} found
   */
  function rowOf(cell, found) {
    const open = make('button', 'link', cell.geohash)
    open.type = 'button'
    open.addEventListener('click', () => {
      zoomTo(cell.geohash.length)
      choose(cell, found)
      detail.focus()
    })
    const name = make('th', '', open)
    name.scope = 'row'
    const reasons = Object.entries(cell.excluded).map(([reason, count]) => `${count} ${reason.replaceAll('_', ' ')}`)
    return make(
      'tr',
      '',
      name,
      make('td', '', String(cell.examined)),
      make('td', '', String(cell.passed)),
      make('td', '', reasons.join(', ')),
    )
  }

  /**
   * @param {SearchedCell} cell
   * @param {Search} found
   */
  function choose(cell, { user }) {
    drawing?.choose(cell)
    const reasons = Object.entries(cell.excluded).map(([reason, count]) => make('li', '', `${count} × ${reasonText(reason)}`))
    const people = cell.people.map(({ user_id, excluded_by }) => {
      const verdicts = make('button', 'link', user_id)
      verdicts.type = 'button'
      const entry = make('li', '', verdicts, ` ${excluded_by === null ? 'passed' : reasonText(excluded_by)}`)
      verdicts.addEventListener('click', () => explain(user, user_id, entry))
      return entry
    })
    const rest = cell.examined - cell.people.length
    detail.replaceChildren(
      make('h3', '', `Cell ${cell.geohash}`),
      make('p', '', `${counted(cell.examined, 'user')} examined, ${cell.passed} passed.`),
      make('ul', '', ...reasons),
      make('h3', '', 'Users'),
      make('ul', '', ...people, ...(rest > 0 ? [make('li', 'soft', `and ${rest} more`)] : [])),
    )
  }

  /**
   * Adds the verdicts of all filters on a user to the user's entry.
   * @param {string} user
   * @param {string} candidate
   * @param {HTMLElement} entry
   */
  async function explain(user, candidate, entry) {
    if (entry.ariaBusy === 'true' || entry.querySelector('ul') !== null) return
    entry.ariaBusy = 'true'
    try {
      const { verdicts } = await ask('GET', `feed/explain?user=${user}&candidate=${candidate}`)
      onSuccess()
      const lines = verdicts.map((/** @type {any} */ { filter, passed, value, allowed }) =>
        make('li', '', `${passed ? '✓' : '✗'} ${filter}: ${value}, allowed: ${allowed}`),
      )
      entry.append(make('ul', '', ...lines))
    } catch (error) {
      onFailure(failureOf(error))
    } finally {
      entry.ariaBusy = 'false'
    }
  }

  onSubmit('search-form', search, onFailure)

  return {
    /** Clears the map when the administrator signs out. */
    clear() {
      input('search-user').value = ''
      hide()
    },
  }
}

/** @param {Search} found */
function summaryOf({ cells, examined, passed }) {
  return `The search visited ${counted(cells.length, 'cell')} and examined ${counted(examined, 'user')}, of whom ${passed} passed.`
}

/**
 * @param {number} count
 * @param {string} noun
 */
function counted(count, noun) {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

function legend() {
  const entries = [
    ['found', 'somebody passed (the numbers are passed/examined)'],
    ['excluded', 'all were excluded'],
    ['', 'nobody new'],
    ['here', 'the user’s own cell'],
  ]
  return make('ul', 'legend soft', ...entries.map(([className, text]) => make('li', className, text)))
}
