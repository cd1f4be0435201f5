/** Returns the position of the highest value. If values are equal, the first one wins. */
export function placeOfGreatest(values: Float64Array): number {
  let best = 0
  for (let at = 1; at < values.length; at++) if (values[at] > values[best]) best = at
  return best
}

/** Returns the lowest of the `count` highest values. If there are no more than `count` values, returns -Infinity. */
export function leastOfGreatest(values: Float64Array, count: number): number {
  return values.length <= count ? Number.NEGATIVE_INFINITY : values.toSorted()[values.length - count]
}
