// @ts-check
import { planeAround } from '../../../kit/page/browser/plane.js'
import { element, text } from '../../../kit/page/browser/svg.js'
import { CITIES } from './cities.js'

/** @typedef {{ lat: number, lng: number, at: number, isOwn: boolean }} Visit */
/** The part of the plane that is drawn, and its units per pixel of the screen. */
/** @typedef {{ x: number, y: number, width: number, height: number, pixel: number }} Frame */

/** The smallest part of the earth that is drawn, in degrees. Closer places belong to one town. */
const LEAST_DEGREES = 0.4
const MARGIN = 0.18
/** The width of the drawing is this many times its height: at least, at most, and at most on a narrow screen. */
const TALLEST = 1.2
const FLATTEST = 2.4
const FLATTEST_NARROW = 1.5
const NARROW_PX = 500
/** Assumed while the page is not laid out. */
const DEFAULT_PX = 700
/** Distances between lines of the grid, in degrees. */
const STEPS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 45]
const MOST_LINES = 7
const POLE = 90
const HALF_TURN = 180
/** Sizes in pixels. */
const TEXT = 12
const DOT = 6
const OWN_DOT = 8
const CITY_DOT = 2
/** Names of towns keep these distances from each other. */
const CLEAR_X = 90
const CLEAR_Y = 26
/** Names begin this far from a place of the user. */
const TAKEN = 16

/**
 * Draws places of a user in the order of the visits, with large towns for orientation. It loads nothing, so no server of
 * maps learns where the user was.
 * @param {readonly Visit[]} visits oldest first; at least one
 * @param {number} widthPx of the drawing
 */
export function drawMap(visits, widthPx) {
  const middle = visits[visits.length - 1]
  const onPlane = planeAround(middle)
  const points = visits.map((visit) => ({ visit, ...onPlane(visit) }))
  const frame = frameAround(points, onPlane.size(LEAST_DEGREES, LEAST_DEGREES), widthPx || DEFAULT_PX)
  const svg = element('svg', { viewBox: [frame.x, frame.y, frame.width, frame.height].join(' '), role: 'img' })
  svg.setAttribute('aria-label', 'Map of the places. The list below has the same content.')
  svg.append(...grid(middle, onPlane, frame), ...towns(points, onPlane, frame))
  if (points.length > 1) svg.append(element('polyline', { points: points.map(({ x, y }) => `${x},${y}`).join(' '), class: 'route' }))
  for (const { visit, x, y } of points) {
    svg.append(element('circle', { cx: x, cy: y, r: frame.pixel * (visit.isOwn ? OWN_DOT : DOT), class: visit.isOwn ? 'own' : 'visit' }))
  }
  return svg
}

/**
 * @param {readonly { x: number, y: number }[]} points
 * @param {{ width: number, height: number }} least
 * @param {number} widthPx
 * @returns {Frame}
 */
function frameAround(points, least, widthPx) {
  const [left, right] = [Math.min(...points.map(({ x }) => x)), Math.max(...points.map(({ x }) => x))]
  const [top, bottom] = [Math.min(...points.map(({ y }) => y)), Math.max(...points.map(({ y }) => y))]
  let width = Math.max(right - left, least.width) * (1 + 2 * MARGIN)
  let height = Math.max(bottom - top, least.height) * (1 + 2 * MARGIN)
  width = Math.max(width, height * TALLEST)
  height = Math.max(height, width / (widthPx < NARROW_PX ? FLATTEST_NARROW : FLATTEST))
  return { x: (left + right - width) / 2, y: (top + bottom - height) / 2, width, height, pixel: width / widthPx }
}

/**
 * @param {Visit} middle
 * @param {ReturnType<typeof planeAround>} onPlane
 * @param {Frame} frame
 */
function grid(middle, onPlane, { x: left, y: top, width, height, pixel }) {
  const unit = onPlane.size(1, 1)
  const fits = (/** @type {number} */ step) => Math.max(width / unit.width, height / unit.height) / step <= MOST_LINES
  const step = STEPS.find(fits) ?? STEPS[STEPS.length - 1]
  const [right, bottom] = [left + width, top + height]
  const size = pixel * TEXT
  const gap = size / 3
  const lines = []
  for (let lng = Math.ceil((middle.lng + left / unit.width) / step) * step; ; lng += step) {
    const x = (lng - middle.lng) * unit.width
    if (x > right) break
    lines.push(element('line', { x1: x, x2: x, y1: top, y2: bottom, class: 'grid' }))
    lines.push(text(degrees(within(lng), 'E', 'W', step), x + gap, bottom - gap, size, 'degrees'))
  }
  for (let lat = Math.floor((middle.lat - top / unit.height) / step) * step; ; lat -= step) {
    const y = (middle.lat - lat) * unit.height
    if (y > bottom) break
    if (Math.abs(lat) > POLE) continue
    lines.push(element('line', { x1: left, x2: right, y1: y, y2: y, class: 'grid' }))
    lines.push(text(degrees(lat, 'N', 'S', step), left + gap, y - gap, size, 'degrees'))
  }
  return lines
}

/**
 * Where there is no room for all names, the most important towns have theirs.
 * @param {readonly { x: number, y: number }[]} points
 * @param {ReturnType<typeof planeAround>} onPlane
 * @param {Frame} frame
 */
function towns(points, onPlane, { x: left, y: top, width, height, pixel }) {
  const size = pixel * TEXT
  /** @type {{ x: number, y: number }[]} */
  const named = []
  return CITIES.flatMap(([name, lat, lng]) => {
    const { x, y } = onPlane({ lat, lng })
    const isInside = x > left && x < left + width - CLEAR_X * pixel && y > top + size && y < top + height - 2 * size
    const isCrowded = named.some((other) => Math.abs(other.y - y) < CLEAR_Y * pixel && Math.abs(other.x - x) < CLEAR_X * pixel)
    if (!isInside || isCrowded) return []
    named.push({ x, y })
    const isTaken = points.some((point) => Math.hypot(point.x - x, point.y - y) < TAKEN * pixel)
    const dot = element('circle', { cx: x, cy: y, r: CITY_DOT * pixel, class: 'town' })
    return [dot, text(name, x + (isTaken ? TAKEN * pixel : size / 2), y + size / 3, size, 'town')]
  })
}

/** @param {number} lng beyond ±180, too */
const within = (lng) => ((((lng + HALF_TURN) % (2 * HALF_TURN)) + 2 * HALF_TURN) % (2 * HALF_TURN)) - HALF_TURN

/**
 * @param {number} value
 * @param {string} positive
 * @param {string} negative
 * @param {number} [step] how exact it is
 */
export function degrees(value, positive, negative, step = 0.01) {
  const digits = step >= 1 ? 0 : step >= 0.1 ? 1 : 2
  return `${Math.abs(value).toFixed(digits)}° ${value < 0 ? negative : positive}`
}
