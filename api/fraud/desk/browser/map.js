// @ts-check
import { planeAround } from '../../../kit/page/browser/plane.js'
import { element, text } from '../../../kit/page/browser/svg.js'
import { CITIES } from './cities.js'

/** @typedef {{ lat: number, lng: number, at: number, isOwn: boolean }} Visit */
/**
 * The part of the plane that is drawn. Drawings use pixels as their unit, because a browser applies its limits on font
 * sizes to the size in the drawing's own unit.
 * @typedef {object} Frame
 * @property {number} width in pixels
 * @property {number} height
 * @property {(place: { lat: number, lng: number }) => { x: number, y: number }} at returns the position of a place in
 * the drawing
 * @property {{ width: number, height: number }} degree the size of a degree in pixels
 */

/** Minimum width and height of the drawn area, in degrees. Places that are closer together belong to the same town. */
const LEAST_DEGREES = 0.4
/** Margin on each side, as a share of the area that contains all places. */
const MARGIN = 0.18
/** Limits of the aspect ratio (width / height): the minimum, the maximum, and the maximum on a narrow screen. */
const TALLEST = 1.2
const FLATTEST = 2.4
const FLATTEST_NARROW = 1.5
const NARROW_PX = 500
/** Width that is assumed while the page has no layout yet. */
const DEFAULT_PX = 700
/** Possible distances between the lines of the grid, in degrees. */
const STEPS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 45]
const MOST_LINES = 7
const POLE = 90
const HALF_TURN = 180
/** Sizes in pixels. */
const TEXT = 12
const GAP = 4
const DOT = 6
const OWN_DOT = 8
const CITY_DOT = 2
/** Two towns are both drawn only if they are at least this far apart, horizontally or vertically, in pixels. */
const CLEAR_X = 90
const CLEAR_Y = 26
/** If a town is closer than this to a place of the user, its name is drawn this far from the town, in pixels. */
const TAKEN = 16

/**
 * Draws the places of a user in the order of the visits, with large towns for orientation. The drawing loads no map
 * tiles, so no map provider learns where the user was.
 * @param {readonly Visit[]} visits oldest first; at least one
 * @param {number} widthPx width of the drawing
 */
export function drawMap(visits, widthPx) {
  const frame = frameAround(visits, widthPx || DEFAULT_PX)
  const points = visits.map((visit) => ({ visit, ...frame.at(visit) }))
  const svg = element('svg', { viewBox: `0 0 ${frame.width} ${frame.height}`, role: 'img' })
  svg.setAttribute('aria-label', 'Map of the places. The list below has the same content.')
  svg.append(...grid(visits[visits.length - 1], frame), ...towns(points, frame))
  if (points.length > 1) svg.append(element('polyline', { points: points.map(({ x, y }) => `${x},${y}`).join(' '), class: 'route' }))
  for (const { visit, x, y } of points) {
    svg.append(element('circle', { cx: x, cy: y, r: visit.isOwn ? OWN_DOT : DOT, class: visit.isOwn ? 'own' : 'visit' }))
  }
  return svg
}

/**
 * @param {readonly Visit[]} visits
 * @param {number} widthPx
 * @returns {Frame}
 */
function frameAround(visits, widthPx) {
  const onPlane = planeAround(visits[visits.length - 1])
  const points = visits.map(onPlane)
  const least = onPlane.size(LEAST_DEGREES, LEAST_DEGREES)
  const [left, right] = [Math.min(...points.map(({ x }) => x)), Math.max(...points.map(({ x }) => x))]
  const [top, bottom] = [Math.min(...points.map(({ y }) => y)), Math.max(...points.map(({ y }) => y))]
  let width = Math.max(right - left, least.width) * (1 + 2 * MARGIN)
  let height = Math.max(bottom - top, least.height) * (1 + 2 * MARGIN)
  width = Math.max(width, height * TALLEST)
  height = Math.max(height, width / (widthPx < NARROW_PX ? FLATTEST_NARROW : FLATTEST))
  const scale = widthPx / width
  const degree = onPlane.size(scale, scale)
  return {
    width: widthPx,
    height: height * scale,
    at(place) {
      const { x, y } = onPlane(place)
      return { x: (x - (left + right - width) / 2) * scale, y: (y - (top + bottom - height) / 2) * scale }
    },
    degree,
  }
}

/**
 * @param {Visit} middle
 * @param {Frame} frame
 */
function grid(middle, { width, height, at, degree }) {
  const fits = (/** @type {number} */ step) => Math.max(width / degree.width, height / degree.height) / step <= MOST_LINES
  const step = STEPS.find(fits) ?? STEPS[STEPS.length - 1]
  const origin = at(middle)
  const lines = []
  for (let lng = Math.ceil((middle.lng - origin.x / degree.width) / step) * step; ; lng += step) {
    const x = origin.x + (lng - middle.lng) * degree.width
    if (x > width) break
    lines.push(element('line', { x1: x, x2: x, y1: 0, y2: height, class: 'grid' }))
    lines.push(text(degrees(within(lng), 'E', 'W', step), x + GAP, height - GAP, TEXT, 'degrees'))
  }
  for (let lat = Math.floor((middle.lat + origin.y / degree.height) / step) * step; ; lat -= step) {
    const y = origin.y + (middle.lat - lat) * degree.height
    if (y > height) break
    if (Math.abs(lat) > POLE) continue
    lines.push(element('line', { x1: 0, x2: width, y1: y, y2: y, class: 'grid' }))
    lines.push(text(degrees(lat, 'N', 'S', step), GAP, y - GAP, TEXT, 'degrees'))
  }
  return lines
}

/**
 * If there is no room for all towns, only the most important ones are drawn.
 * @param {readonly { x: number, y: number }[]} points
 * @param {Frame} frame
 */
function towns(points, { width, height, at }) {
  /** @type {{ x: number, y: number }[]} */
  const named = []
  return CITIES.flatMap(([name, lat, lng]) => {
    const { x, y } = at({ lat, lng })
    const isInside = x > 0 && x < width - CLEAR_X && y > TEXT && y < height - 2 * TEXT
    const isCrowded = named.some((other) => Math.abs(other.y - y) < CLEAR_Y && Math.abs(other.x - x) < CLEAR_X)
    if (!isInside || isCrowded) return []
    named.push({ x, y })
    const isTaken = points.some((point) => Math.hypot(point.x - x, point.y - y) < TAKEN)
    const dot = element('circle', { cx: x, cy: y, r: CITY_DOT, class: 'town' })
    return [dot, text(name, x + (isTaken ? TAKEN : TEXT / 2), y + GAP, TEXT, 'town')]
  })
}

/** @param {number} lng may be beyond ±180 */
const within = (lng) => ((((lng + HALF_TURN) % (2 * HALF_TURN)) + 2 * HALF_TURN) % (2 * HALF_TURN)) - HALF_TURN

/**
 * @param {number} value
 * @param {string} positive
 * @param {string} negative
 * @param {number} [step] the value is shown with as many decimals as this step needs
 */
export function degrees(value, positive, negative, step = 0.01) {
  const digits = step >= 1 ? 0 : step >= 0.1 ? 1 : 2
  return `${Math.abs(value).toFixed(digits)}° ${value < 0 ? negative : positive}`
}
