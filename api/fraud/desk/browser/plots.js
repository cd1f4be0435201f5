// @ts-check
import { make } from '../../../kit/page/browser/elements.js'
import { element, text } from '../../../kit/page/browser/svg.js'

/** Size of the square plot and the space for its axis labels, in units of the drawing. */
const SIZE = 200
const LEFT = 34
const BOTTOM = 32
const TOP = 8
const RIGHT = 10
const TEXT = 10
const TICKS = [0, 0.25, 0.5, 0.75, 1]

/** @typedef {{ name: string, points: readonly { x: number, y: number }[] }} Series */

/**
 * Draws curves in a square whose axes both go from 0 to 1.
 * @param {object} plot
 * @param {string} plot.title
 * @param {string} plot.x the name of the horizontal axis
 * @param {string} plot.y
 * @param {readonly Series[]} plot.series
 * @param {boolean} [plot.diagonal] whether to draw the diagonal, for example as the curve of a random guess
 * @param {string} [plot.note] a sentence below the plot
 */
export function squarePlot({ title, x, y, series, diagonal = false, note }) {
  const svg = element('svg', { viewBox: `0 0 ${LEFT + SIZE + RIGHT} ${TOP + SIZE + BOTTOM}`, role: 'img' })
  svg.setAttribute('aria-label', `${title}: ${y} by ${x}`)
  for (const tick of TICKS) {
    const [atX, atY] = [place({ x: tick, y: 0 }).x, place({ x: 0, y: tick }).y]
    svg.append(element('line', { x1: atX, x2: atX, y1: TOP, y2: TOP + SIZE, class: 'grid' }))
    svg.append(element('line', { x1: LEFT, x2: LEFT + SIZE, y1: atY, y2: atY, class: 'grid' }))
    svg.append(text(String(tick), atX, TOP + SIZE + TEXT + 2, TEXT, 'tick'), text(String(tick), LEFT - 4, atY + TEXT / 3, TEXT, 'tick end'))
  }
  const vertical = text(y, 0, 0, TEXT, 'tick')
  vertical.setAttribute('transform', `translate(${TEXT - 2} ${TOP + SIZE / 2}) rotate(-90)`)
  svg.append(text(x, LEFT + SIZE / 2, TOP + SIZE + BOTTOM - 4, TEXT, 'tick'), vertical)
  if (diagonal) svg.append(element('line', { x1: LEFT, y1: TOP + SIZE, x2: LEFT + SIZE, y2: TOP, class: 'diagonal' }))
  series.forEach(({ name, points }, index) => {
    const line = element('polyline', {
      points: points.map((point) => `${place(point).x},${place(point).y}`).join(' '),
      class: `line line${index}`,
    })
    const title = element('title', {})
    title.textContent = name
    line.append(title)
    svg.append(line)
  })
  const names = series.length < 2 ? [] : [make('ul', 'legend soft', ...series.map(({ name }, index) => make('li', `line${index}`, name)))]
  return make('figure', 'plot', make('figcaption', '', title), svg, ...names, ...(note === undefined ? [] : [make('p', 'soft', note)]))
}

/** @param {{ x: number, y: number }} point */
function place({ x, y }) {
  return { x: LEFT + clamped(x) * SIZE, y: TOP + SIZE - clamped(y) * SIZE }
}

/** @param {number} value */
const clamped = (value) => Math.min(1, Math.max(0, value))

/**
 * Draws values as horizontal bars.
 * @param {object} plot
 * @param {string} plot.title
 * @param {readonly { name: string, value: number }[]} plot.bars
 * @param {(value: number) => string} plot.format
 * @param {number} plot.warnFrom bars with at least this value are highlighted
 * @param {string} [plot.note]
 */
export function barPlot({ title, bars, format, warnFrom, note }) {
  const greatest = Math.max(warnFrom, ...bars.map(({ value }) => value))
  const rows = bars.map(({ name, value }) => {
    const bar = make('span', value >= warnFrom ? 'bar warn' : 'bar')
    bar.style.setProperty('--share', `${(value / greatest) * 100}%`)
    bar.setAttribute('aria-hidden', 'true')
    return make('li', '', make('span', '', name), bar, make('span', 'value', format(value)))
  })
  return make(
    'figure',
    'plot wide',
    make('figcaption', '', title),
    make('ul', 'bars', ...rows),
    ...(note === undefined ? [] : [make('p', 'soft', note)]),
  )
}
