/**
 * Searches a sorted list by bisection.
 * @param isBefore true for the items before the place that is searched for
 * @returns the index of the first other item
 */
export function lowerBound<Item>(sorted: readonly Item[], isBefore: (item: Item) => boolean): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (isBefore(sorted[middle])) low = middle + 1
    else high = middle
  }
  return low
}
