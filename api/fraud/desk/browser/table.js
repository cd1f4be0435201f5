// @ts-check
import { make } from '../../../kit/page/browser/elements.js'

/**
 * Creates a row whose first cell is its heading.
 * @param {string | Node} title
 * @param {...(string | Node)} cells
 */
export function row(title, ...cells) {
  const head = make('th', '', title)
  head.scope = 'row'
  return make('tr', '', head, ...cells.map((cell) => make('td', '', cell)))
}

/**
 * Creates a table in a box that scrolls if the table is too large.
 * @param {string} caption
 * @param {readonly string[]} heads
 * @param {readonly Node[]} rows
 */
export function table(caption, heads, rows) {
  const columns = heads.map((head) => {
    const cell = make('th', '', head)
    cell.scope = 'col'
    return cell
  })
  return make(
    'div',
    'scrolling',
    make('table', '', make('caption', '', caption), make('thead', '', make('tr', '', ...columns)), make('tbody', '', ...rows)),
  )
}
