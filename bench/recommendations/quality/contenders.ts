import { cosinePairs, nearPairs, type PairCounts } from './pairs.ts'

/** A method that ranks all items for a user. */
export interface Contender {
  readonly name: string
  /**
   * @param history the user's items so far, oldest first
   * @param learned number of these items that the user rated before the end of training
   */
  scores(history: readonly number[], learned: number): Float64Array
  /** @param isTraining true if the event belongs to the training part */
  learn(item: number, history: readonly number[], isTraining: boolean): void
}

/** Weights of the last items, newest first. They were tuned on MovieLens, the data set of this benchmark. */
const RECENCY = [1, 0.8, 0.65, 0.5, 0.4, 0.33, 0.28, 0.24, 0.2, 0.17]

export function contenders(items: number): Contender[] {
  const counts = new Float64Array(items)
  const popularity: Contender = {
    name: 'popularity',
    scores: () => counts,
    learn: (item) => void counts[item]++,
  }

  function byPairs(
    name: string,
    pairs: PairCounts,
    isFrozen: boolean,
    weights: (history: readonly number[], learned: number) => number[],
  ): Contender {
    return {
      name,
      scores(history, learned) {
        const scores = new Float64Array(items)
        for (const [back, weight] of weights(history, learned).entries()) {
          pairs.score((isFrozen ? history.slice(0, learned) : history).at(-1 - back)!, weight, scores)
        }
        return scores
      },
      learn(item, history, isTraining) {
        if (isTraining || !isFrozen) pairs.add(item, history)
      },
    }
  }

  return [
    popularity,
    byPairs('item-kNN, frozen', cosinePairs(items), true, (_, learned) => new Array(learned).fill(1)),
    byPairs('item-kNN, running history', cosinePairs(items), false, (history) => new Array(history.length).fill(1)),
    byPairs('item-kNN, last 5 items', cosinePairs(items), false, (history) => new Array(Math.min(5, history.length)).fill(1)),
    byPairs('near pairs, last 5 items', nearPairs(items), false, (history) => RECENCY.slice(0, Math.min(5, history.length))),
    byPairs('near pairs, last 10 items', nearPairs(items), false, (history) => RECENCY.slice(0, history.length)),
  ]
}
