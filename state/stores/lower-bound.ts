/**
 * Finds a position in a sorted list by binary search.
 * @param isBefore returns true for the items before the position
 * @returns the index of the first item for which `isBefore` is false
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
