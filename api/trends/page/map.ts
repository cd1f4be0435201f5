import { html } from 'hono/html'
import { type Position, positions } from '../../../schemas/trends/places/positions.ts'
import { type Region, regions } from '../../../schemas/trends/places/regions.ts'
import type { Html } from '../../kit/page/rendered.ts'
import { listAddress } from './layout.ts'

/** A rectangle on the map, in degrees. `x` increases to the east, and `y` to the south. */
interface Frame {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

/** Frame of the whole world. All cities with trends are inside this frame. */
const WORLD: Frame = { x: -180, y: -72, width: 360, height: 130 }
const LEAST_DEGREES = 4
const MARGIN = 0.15
/**
 * Width of the map, in radii of a dot. Dots therefore have the same size on the screen, regardless of the part of the
 * world that is shown.
 */
const DOTS_ACROSS = 260
const CURRENT_TIMES = 2

interface City {
  readonly region: Region
  readonly position: Position
}

const cities: readonly City[] = regions.flatMap((region) => {
  const position = positions.get(region.woeid)
  return position === undefined ? [] : [{ region, position }]
})

/**
 * Draws the cities with trends as dots that link to their lists. The map shows the whole world, or a country and its
 * surroundings. Keyboards and screen readers skip the map, because the page also has a search field and, below the map,
 * a list of links.
 */
export function placesMap(current: Region, safe: boolean): Html {
  const country = current.type === 'Town' ? current.parent : current.woeid
  const near = cities.filter(({ region }) => region.parent === country)
  const frame = near.length === 0 ? WORLD : frameOf(near)
  const radius = Math.round((frame.width / DOTS_ACROSS) * 1_000) / 1_000
  // The current city comes last, so that no other dot covers it.
  const shown = cities
    .filter(({ position }) => isWithin(position, frame))
    .toSorted((left, right) => Number(left.region === current) - Number(right.region === current))
  const dots = shown.map(({ region, position: { lat, long } }) => {
    const isCurrent = region.woeid === current.woeid
    const kind = isCurrent ? 'current' : near.length === 0 || region.parent === country ? 'near' : 'far'
    const size = isCurrent ? radius * CURRENT_TIMES : radius
    return html`<a href="${listAddress(region, safe)}" tabindex="-1"><circle class="${kind}" cx="${long}" cy="${-lat}" r="${size}"><title>${region.name}</title></circle></a>`
  })
  const { x, y, width, height } = frame
  return html`<svg class="map" viewBox="${x} ${y} ${width} ${height}" aria-hidden="true">${dots}</svg>`
}

function frameOf(places: readonly City[]): Frame {
  const [lats, longs] = [places.map(({ position }) => position.lat), places.map(({ position }) => position.long)]
  const [west, east, north, south] = [Math.min(...longs), Math.max(...longs), Math.max(...lats), Math.min(...lats)]
  const width = Math.max(east - west, LEAST_DEGREES, (north - south) * (WORLD.width / WORLD.height))
  const height = width / (WORLD.width / WORLD.height)
  const [middle, centre] = [(west + east) / 2, -(north + south) / 2]
  const larger = 1 + 2 * MARGIN
  return { x: middle - (width * larger) / 2, y: centre - (height * larger) / 2, width: width * larger, height: height * larger }
}

function isWithin({ lat, long }: Position, { x, y, width, height }: Frame): boolean {
  return long >= x && long <= x + width && -lat >= y && -lat <= y + height
}
