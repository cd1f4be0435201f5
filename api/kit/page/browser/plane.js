// @ts-check

/**
 * Units of a drawing per degree. Browsers draw shapes with large coordinates more precisely than shapes with small
 * coordinates.
 */
const SCALE = 10_000
const DEGREES = 360
/**
 * Minimum width of a degree of longitude, as a share of its width at the equator. Near the poles, the real width is
 * almost 0.
 */
const LEAST_WIDTH = 0.05

/** @typedef {{ lat: number, lng: number }} Place */

/**
 * Returns a function that maps places on the earth to points on a plane. The farther the middle is from the equator,
 * the narrower is a degree of longitude on the plane. The plane continues across the 180° meridian, so that neighbours
 * on the earth are also neighbours on the plane.
 * @param {Place} middle
 */
export function planeAround(middle) {
  const shrink = Math.max(LEAST_WIDTH, Math.cos((middle.lat * Math.PI) / 180))

  /** @param {Place} place */
  function onPlane({ lat, lng }) {
    const turns = Math.round((lng - middle.lng) / DEGREES)
    return { x: (lng - turns * DEGREES - middle.lng) * shrink * SCALE, y: (middle.lat - lat) * SCALE }
  }

  /**
   * Returns the size of an area on the plane.
   * @param {number} north extent from south to north, in degrees
   * @param {number} east extent from west to east, in degrees
   */
  onPlane.size = (north, east) => ({ width: east * shrink * SCALE, height: north * SCALE })
  return onPlane
}
