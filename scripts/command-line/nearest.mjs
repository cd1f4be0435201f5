/** Maximum edit distance of a typo, as a fraction of the known name's length. One difference is always accepted. */
const MOST_DIFFERENCES = 0.4

/** Returns the known name that the user most likely meant by `given`; undefined when none is similar. */
export function nearestName(given, known) {
  const distances = known.map((name) => ({ name, distance: editDistance(given, name) }))
  const [best] = distances.sort((a, b) => a.distance - b.distance)
  if (best !== undefined && best.distance <= Math.max(1, Math.round(best.name.length * MOST_DIFFERENCES))) return best.name
  return known.find((name) => given.length > 1 && (name.startsWith(given) || given.startsWith(name)))
}

/**
 * Computes the edit distance: the minimum number of insertions, deletions, substitutions and swaps of adjacent
 * characters.
 */
function editDistance(one, other) {
  const rows = [Array.from({ length: other.length + 1 }, (_, column) => column)]
  for (let row = 1; row <= one.length; row++) {
    rows.push([row])
    for (let column = 1; column <= other.length; column++) {
      const isSame = one[row - 1] === other[column - 1]
      const ways = [rows[row - 1][column] + 1, rows[row][column - 1] + 1, rows[row - 1][column - 1] + (isSame ? 0 : 1)]
      const isSwapped = row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1]
      if (isSwapped) ways.push(rows[row - 2][column - 2] + 1)
      rows[row].push(Math.min(...ways))
    }
  }
  return rows[one.length][other.length]
}
