/** How strongly each pair of items is associated. Items are numbers from 0 to `items` - 1. */
export interface PairCounts {
  /** Counts an item that a user interacted with, and its pairs with the user's earlier items. */
  add(item: number, earlier: readonly number[]): void
  /** Increases the score of every item by its weighted similarity to the given item. */
  score(item: number, weight: number, scores: Float64Array): void
}

/** Measures similarity as the cosine between the sets of users who interacted with two items. */
export function cosinePairs(items: number): PairCounts {
  const [pairs, totals] = [new Float64Array(items * items), new Float64Array(items)]
  return {
    add(item, earlier) {
      totals[item]++
      for (const other of earlier) countBoth(pairs, items, item, other, 1)
    },
    score(item, weight, scores) {
      if (totals[item] === 0) return
      for (let to = 0; to < items; to++) {
        if (totals[to] > 0) scores[to] += (weight * pairs[item * items + to]) / Math.sqrt(totals[item] * totals[to])
      }
    },
  }
}

/** Maximum distance between two items in a user's history. Only items within this distance count as a pair. */
const NEAR = 10
/**
 * Weight that is added to the total weight of each item's pairs. It reduces the similarity of items with few pairs,
 * because such a similarity may be due to chance.
 */
const PRIOR = 5

/** Counts pairs of items that are near each other in a history. Pairs of nearer items have more weight. */
export function nearPairs(items: number): PairCounts {
  const [pairs, totals] = [new Float64Array(items * items), new Float64Array(items)]
  return {
    add(item, earlier) {
      const last = earlier.slice(-NEAR)
      for (const [index, other] of last.entries()) {
        const closeness = (NEAR + 1 - (last.length - index)) / NEAR
        countBoth(pairs, items, item, other, closeness)
        totals[item] += closeness
        totals[other] += closeness
      }
    },
    score(item, weight, scores) {
      const own = totals[item] + PRIOR
      for (let to = 0; to < items; to++) scores[to] += (weight * pairs[item * items + to]) / Math.sqrt(own * (totals[to] + PRIOR))
    },
  }
}

function countBoth(pairs: Float64Array, items: number, one: number, other: number, weight: number): void {
  pairs[one * items + other] += weight
  pairs[other * items + one] += weight
}
