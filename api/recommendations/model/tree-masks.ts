/**
 * Evaluates decision trees with the masks of QuickScorer (Lucchese et al., "QuickScorer", SIGIR 2015). Each tree has a
 * mask with one bit per leaf. A split that sends a row to the right removes the bits of all leaves on its left. After
 * all such splits, the leftmost remaining leaf is the one that the row reaches. The splits of a column are sorted by
 * threshold. The splits that send a row to the right therefore come first, and no other splits are visited.
 */
export interface Trees {
  readonly count: number
  /** Returns the raw score of each row: the sum of one leaf per tree. */
  score(features: Float64Array, rows: number): Float64Array
}

/**
 * A row goes to the left if the value in the column is at most the threshold. If the value is greater or NaN, the row
 * goes to the right.
 */
export interface Split {
  readonly tree: number
  readonly column: number
  readonly threshold: number
  /** Mask of all leaves on the left. */
  readonly onLeft: number
}

/** Mask of the leftmost leaf of a tree. The other leaves follow in the lower bits, from left to right. */
export const FIRST_LEAF = 1 << 31
const MASK_BITS = 32
const ALL_LEAVES = -1

/**
 * @param leaves values of the leaves of each tree, from left to right
 * @param width number of columns
 */
export function treesOf(leaves: readonly (readonly number[])[], splits: readonly Split[], width: number): Trees {
  const sorted = splits.toSorted((one, other) => one.column - other.column || one.threshold - other.threshold)
  const thresholds = Float64Array.from(sorted, ({ threshold }) => threshold)
  const trees = Int32Array.from(sorted, ({ tree }) => tree)
  const kept = Int32Array.from(sorted, ({ onLeft }) => ~onLeft)
  const ends = Int32Array.from({ length: width }, (_, column) => sorted.filter((split) => split.column <= column).length)
  const values = new Float64Array(leaves.length * MASK_BITS)
  leaves.forEach((own, tree) => void values.set(own, tree * MASK_BITS))
  const common = new Int32Array(leaves.length)
  const masks = new Int32Array(leaves.length)
  /** The columns in which a split separates the rows, and the index of the first such split of each column. */
  const separating = new Int32Array(width)
  const firsts = new Int32Array(width)

  /**
   * Applies the splits that send all rows to the right. Many features, such as the features of the user, are the same
   * for all candidates of a list.
   * @returns the number of separating columns
   */
  function applyCommon(features: Float64Array, rows: number): number {
    let count = 0
    common.fill(ALL_LEAVES)
    for (let column = 0, at = 0; column < width; column++) {
      let least = Number.POSITIVE_INFINITY
      let greatest = Number.NEGATIVE_INFINITY
      for (let row = 0, place = column; row < rows; row++, place += width) {
        const value = features[place]
        if (value < least) least = value
        if (!(value <= greatest)) greatest = Number.isNaN(value) ? Number.POSITIVE_INFINITY : value
      }
      for (; at < ends[column] && least > thresholds[at]; at++) common[trees[at]] &= kept[at]
      if (at < ends[column] && greatest > thresholds[at]) {
        separating[count] = column
        firsts[count++] = at
      }
      at = ends[column]
    }
    return count
  }

  return {
    count: leaves.length,
    score(features, rows) {
      const scores = new Float64Array(rows)
      const columns = applyCommon(features, rows)
      for (let row = 0, start = 0; row < rows; row++, start += width) {
        for (let tree = 0; tree < masks.length; tree++) masks[tree] = common[tree]
        for (let index = 0; index < columns; index++) {
          const value = features[start + separating[index]]
          const end = ends[separating[index]]
          for (let at = firsts[index]; at < end; at++) {
            if (value <= thresholds[at]) break
            masks[trees[at]] &= kept[at]
          }
        }
        let sum = 0
        for (let tree = 0; tree < masks.length; tree++) sum += values[tree * MASK_BITS + Math.clz32(masks[tree])]
        scores[row] = sum
      }
      return scores
    },
  }
}
