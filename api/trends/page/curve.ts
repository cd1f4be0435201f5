/** The size of a curve, in the user units of the SVG image. */
export interface CurveSize {
  readonly width: number
  readonly height: number
}

/**
 * Returns the points of an SVG polyline through the volumes, from left to right. The highest volume is at the top, and
 * 0 is at the bottom.
 */
export function curvePoints(volumes: readonly number[], { width, height }: CurveSize): string {
  const most = Math.max(1, ...volumes)
  const step = volumes.length > 1 ? width / (volumes.length - 1) : 0
  return volumes.map((volume, at) => `${rounded(at * step)},${rounded(height - (volume / most) * height)}`).join(' ')
}

const TENTHS = 10

function rounded(value: number): number {
  return Math.round(value * TENTHS) / TENTHS
}
