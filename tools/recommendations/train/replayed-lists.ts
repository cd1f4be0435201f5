import type { RecommendationModel } from '../../../api/recommendations/model/model.ts'
import { featuresOf, type Scored } from '../../../api/recommendations/rank/rank.ts'
import { RANKING_WIDTH } from '../../../schemas/recommendations/ranking/ranking-features.ts'
import { type Random, seededRandom } from '../../random/random.ts'
import { type Replay, replay } from '../replay/replay.ts'
import { CHOSEN, CHOSEN_NEXT, type JudgedList } from './rank.ts'

export interface ReplayedLists extends Replay {
  /**
   * A model that has not learned from the interactions of the test cases. Otherwise, the ranker would give the vectors
   * of the model too much weight.
   */
  readonly model: RecommendationModel
  readonly seed: number
}

/** Maximum number of unchosen candidates per list. More candidates would hardly improve training. */
const MOST_OTHERS = 100

/**
 * Makes the lists that users would have received in the past. Leaves out a list if its user chose all of its candidates
 * or none of them, because training learns nothing from such lists.
 */
export async function replayedLists({ model, seed, ...past }: ReplayedLists): Promise<JudgedList[]> {
  const lists: JudgedList[] = []
  const random = seededRandom(seed)
  await replay(past, ({ index, chosen, ask }) => {
    const { candidates } = ask(model)
    const next = past.history.itemIds[index]
    const hits = candidates.filter(({ candidate }) => chosen.has(candidate.itemId))
    if (hits.length === 0 || hits.length === candidates.length) return
    const others = candidates.filter(({ candidate }) => !chosen.has(candidate.itemId))
    lists.push(judged(hits, drawn(others, MOST_OTHERS, random), next))
  })
  return lists
}

function judged(hits: readonly Scored[], others: readonly Scored[], next: bigint): JudgedList {
  const all = [...hits, ...others]
  const features = new Float64Array(all.length * RANKING_WIDTH)
  for (const [row, one] of all.entries()) features.set(featuresOf(one), row * RANKING_WIDTH)
  const labels = Uint8Array.from(all, ({ candidate }, row) => (row >= hits.length ? 0 : candidate.itemId === next ? CHOSEN_NEXT : CHOSEN))
  return { features, labels }
}

function drawn<T>(all: readonly T[], most: number, random: Random): T[] {
  const pool = [...all]
  const count = Math.min(most, pool.length)
  for (let place = 0; place < count; place++) {
    const other = place + Math.floor(random() * (pool.length - place))
    const swapped = pool[place]
    pool[place] = pool[other]
    pool[other] = swapped
  }
  return pool.slice(0, count)
}
