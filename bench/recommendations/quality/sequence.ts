import type { Contender } from './contenders.ts'
import type { Rating } from './ratings.ts'

/**
 * The results for one segment, that is, for users with a similar number of earlier interactions. Each good rating is a
 * test case. A test case is a hit if the rated item was among the first 20.
 */
export interface Quality {
  readonly questions: number
  readonly hits: number
  /** Sum of 1 / log2(rank + 1) over the hits. Ranks begin at 1. */
  readonly gain: number
}

/** Lower bounds of the segments, in numbers of earlier interactions. */
export const SEGMENTS = [0, 1, 10, 50] as const
export const LIST = 20
/** Minimum number of stars of a good rating. */
const GOOD = 4
/** Weight of popularity. It is so small that popularity only orders items with equal scores. */
const TIE = 1e-9

/**
 * Iterates over all ratings in order. Before each good rating after the training part, every contender ranks the items
 * that the user has not rated yet. The contenders learn each rating afterwards.
 * @returns the quality of each contender in each segment
 */
export function askInSequence(ratings: readonly Rating[], trained: number, all: readonly Contender[], items: number): Quality[][] {
  const results = all.map(() => SEGMENTS.map(() => ({ questions: 0, hits: 0, gain: 0 })))
  const histories = new Map<number, { rated: number[]; learned: number }>()
  const counts = new Float64Array(items)
  for (const [index, { user, item, stars }] of ratings.entries()) {
    const history = histories.get(user) ?? { rated: [], learned: 0 }
    histories.set(user, history)
    const isTraining = index < trained
    if (!isTraining && stars >= GOOD) {
      const segment = SEGMENTS.findLastIndex((from) => history.rated.length >= from)
      for (const [at, contender] of all.entries()) {
        const place = placeOf(item, contender.scores(history.rated, history.learned), counts, new Set(history.rated))
        const result = results[at][segment]
        result.questions++
        if (place > LIST) continue
        result.hits++
        result.gain += 1 / Math.log2(place + 1)
      }
    }
    for (const contender of all) contender.learn(item, history.rated, isTraining)
    history.rated.push(item)
    if (isTraining) history.learned++
    counts[item]++
  }
  return results
}

function placeOf(item: number, scores: Float64Array, counts: Float64Array, rated: ReadonlySet<number>): number {
  const own = scores[item] + TIE * counts[item]
  let place = 1
  for (let other = 1; other < scores.length; other++) {
    if (other === item || rated.has(other)) continue
    const score = scores[other] + TIE * counts[other]
    if (score > own || (score === own && other < item)) place++
  }
  return place
}
