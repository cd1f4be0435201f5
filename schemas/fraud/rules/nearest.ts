/** A suggestion may differ from the name by this share of its characters. */
const MAX_DIFFERENT_SHARE = 0.4
/** Longer names are never compared, so that a condition of 4,000 letters costs nothing. */
const MAX_COMPARED_CHARACTERS = 60

/** Returns the candidate that is most similar to the name, ignoring case, or undefined if none is similar. */
export function nearestOf(name: string, candidates: Iterable<string>): string | undefined {
  if (name.length > MAX_COMPARED_CHARACTERS) return undefined
  const wanted = name.toLowerCase()
  let nearest: string | undefined
  let least = Math.max(1, Math.floor(name.length * MAX_DIFFERENT_SHARE)) + 1
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - name.length) >= least) continue
    const distance = editDistance(wanted, candidate.toLowerCase())
    if (distance < least) {
      least = distance
      nearest = candidate
    }
  }
  return nearest
}

/** Returns how many insertions, deletions, replacements and swaps of neighbours turn one text into the other. */
export function editDistance(from: string, to: string): number {
  let beforePrevious: number[] = []
  let previous = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let row = 1; row <= from.length; row++) {
    const current = [row]
    for (let column = 1; column <= to.length; column++) {
      const isSame = from[row - 1] === to[column - 1]
      let least = Math.min(previous[column] + 1, current[column - 1] + 1, previous[column - 1] + (isSame ? 0 : 1))
      const isSwap = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
      if (isSwap) least = Math.min(least, beforePrevious[column - 2] + 1)
      current.push(least)
    }
    beforePrevious = previous
    previous = current
  }
  return previous[to.length]
}
