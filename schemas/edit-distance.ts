/**
 * Returns the minimum number of edits that turn one text into the other. An edit inserts, removes or replaces a
 * character, or swaps two neighbouring characters (optimal string alignment).
 */
export function editDistance(left: string, right: string): number {
  let [beforeLast, last]: number[][] = [[], Array.from({ length: right.length + 1 }, (_, at) => at)]
  for (let row = 1; row <= left.length; row++) {
    const next = [row]
    for (let column = 1; column <= right.length; column++) {
      const same = left[row - 1] === right[column - 1]
      let least = Math.min(last[column] + 1, next[column - 1] + 1, last[column - 1] + (same ? 0 : 1))
      const swapped = row > 1 && column > 1 && left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1]
      if (swapped) least = Math.min(least, beforeLast[column - 2] + 1)
      next.push(least)
    }
    beforeLast = last
    last = next
  }
  return last[right.length]
}
