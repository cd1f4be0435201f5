// @ts-check
/** @import { SearchedCell } from './search-map.js' */
import { planeAround } from '../../../kit/page/browser/plane.js'

const SVG = 'http://www.w3.org/2000/svg'
/** Free space around the cells, as a share of their extent. */
const MARGIN = 0.03
/** Size of a label, in characters and lines, including the free space around the label. */
const LABEL_CHARACTERS = 5
const LABEL_LINES = 3

/** @typedef {{ x: number, y: number, width: number, height: number }} Box */

/**
 * Draws the searched cells. Each cell is drawn on top of the larger cells that contain it.
 * @param {readonly SearchedCell[]} cells in the order of the search. The search begins around the user's own cell.
 * @param {(cell: SearchedCell) => void} onChoose
 */
export function drawMap(cells, onChoose) {
  const svg = document.createElementNS(SVG, 'svg')
  svg.setAttribute('role', 'img')
  svg.setAttribute('aria-label', 'Map of the searched cells. The table lists all cells in which the search found users.')
  const boxes = boxesOf(cells)
  const [home] = homeFirst(cells)
  for (const cell of [...cells].sort((a, b) => a.geohash.length - b.geohash.length)) {
    const rect = rectOf(/** @type {Box} */ (boxes.get(cell)))
    rect.setAttribute('class', classOf(cell))
    const title = document.createElementNS(SVG, 'title')
    title.textContent = `${cell.geohash}: ${cell.examined} examined, ${cell.passed} passed`
    rect.append(title)
    if (cell.examined > 0) {
      rect.dataset.people = String(cell.examined)
      rect.addEventListener('click', () => onChoose(cell))
    }
    svg.append(rect)
    const hasInner = cells.some(({ geohash }) => geohash !== cell.geohash && geohash.startsWith(cell.geohash))
    if (cell.examined > 0 && !hasInner) svg.append(labelOf(cell, /** @type {Box} */ (boxes.get(cell))))
  }
  if (home !== undefined) mark('here', home)

  /**
   * Draws the outline of a cell on top of all cells, and removes the earlier outline of the same class.
   * @param {string} className
   * @param {SearchedCell} cell
   */
  function mark(className, cell) {
    svg.querySelector(`.${className}`)?.remove()
    const outline = rectOf(/** @type {Box} */ (boxes.get(cell)))
    outline.setAttribute('class', className)
    svg.append(outline)
  }

  return {
    svg,
    /**
     * Zooms to all cells of a precision and the cells inside them.
     * @param {number} precision
     */
    zoomTo(precision) {
      const shown = cells.filter(({ geohash }) => geohash.length >= precision)
      const { x, y, width, height } = extentOf(shown.flatMap((cell) => boxes.get(cell) ?? []))
      const margin = Math.max(width, height) * MARGIN
      svg.setAttribute('viewBox', [x - margin, y - margin, width + 2 * margin, height + 2 * margin].join(' '))
    },
    /** @param {SearchedCell} cell */
    choose(cell) {
      mark('chosen', cell)
    },
  }
}

/** @param {SearchedCell} cell */
function classOf({ examined, passed }) {
  if (passed > 0) return 'found'
  return examined > 0 ? 'excluded' : ''
}

/**
 * Returns the second half of the smallest cells. The first cell of the result is the user's own cell, because the
 * smallest cells are this cell and its neighbours, with this cell in the middle.
 * @param {readonly SearchedCell[]} cells
 */
function homeFirst(cells) {
  const precision = Math.max(...cells.map(({ geohash }) => geohash.length))
  const smallest = cells.filter(({ geohash }) => geohash.length === precision)
  return smallest.slice(Math.floor(smallest.length / 2))
}

/**
 * Returns the positions and sizes of the cells on a plane.
 * @param {readonly SearchedCell[]} cells
 * @returns {Map<SearchedCell, Box>}
 */
function boxesOf(cells) {
  const [first] = cells
  if (first === undefined) return new Map()
  const { south, west, north } = first.bounds
  const onPlane = planeAround({ lat: (south + north) / 2, lng: west })
  return new Map(
    cells.map(({ bounds }, index) => {
      const corner = onPlane({ lat: bounds.north, lng: bounds.west })
      const { width, height } = onPlane.size(bounds.north - bounds.south, bounds.east - bounds.west)
      return [cells[index], { ...corner, width, height }]
    }),
  )
}

/**
 * @param {readonly Box[]} boxes
 * @returns {Box}
 */
function extentOf(boxes) {
  const x = Math.min(...boxes.map((box) => box.x))
  const y = Math.min(...boxes.map((box) => box.y))
  return {
    x,
    y,
    width: Math.max(...boxes.map((box) => box.x + box.width)) - x,
    height: Math.max(...boxes.map((box) => box.y + box.height)) - y,
  }
}

/** @param {Box} box */
function rectOf(box) {
  const rect = document.createElementNS(SVG, 'rect')
  for (const [name, value] of Object.entries(box)) rect.setAttribute(name, String(value))
  return rect
}

/**
 * @param {SearchedCell} cell
 * @param {Box} box
 */
function labelOf({ passed, examined }, { x, y, width, height }) {
  const label = document.createElementNS(SVG, 'text')
  label.textContent = `${passed}/${examined}`
  label.setAttribute('x', String(x + width / 2))
  label.setAttribute('y', String(y + height / 2))
  label.setAttribute('font-size', String(Math.min(width / LABEL_CHARACTERS, height / LABEL_LINES)))
  return label
}
