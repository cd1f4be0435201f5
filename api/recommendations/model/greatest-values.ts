/** Returns the position of the highest value. If values are equal, the first one wins. */
export function placeOfGreatest(values: Float64Array): number {
  let best = 0
  for (let at = 1; at < values.length; at++) if (values[at] > values[best]) best = at
  return best
}

/** Scratch memory that all calls share. They are synchronous, so no two calls use it at the same time. */
let scratch = new Float64Array()

/**
 * Returns the lowest of the `count` highest values. If there are no more than `count` values, returns -Infinity. The
 * values must not be NaN. Uses Quickselect (Hoare, "Algorithm 65: Find", 1961), because sorting thousands of values
 * would take a millisecond.
 */
export function leastOfGreatest(values: Float64Array, count: number): number {
  const place = values.length - count
  if (place <= 0) return Number.NEGATIVE_INFINITY
  if (scratch.length < values.length) scratch = new Float64Array(values.length)
  scratch.set(values)
  let from = 0
  let to = values.length - 1
  while (from < to) {
    const pivot = scratch[(from + to) >> 1]
    let low = from
    let high = to
    while (low <= high) {
      while (scratch[low] < pivot) low++
      while (scratch[high] > pivot) high--
      if (low > high) break
      const value = scratch[low]
      scratch[low++] = scratch[high]
      scratch[high--] = value
    }
    if (place <= high) to = high
    else if (place >= low) from = low
    else break
  }
  return scratch[place]
}
