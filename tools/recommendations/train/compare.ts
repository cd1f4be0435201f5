import type { RecommendationModel } from '../../../api/recommendations/model/model.ts'
import { MOST_NEWER_ITEMS, newerItems } from '../../../api/recommendations/model/newer-items.ts'
import type { Recommended } from '../../../api/recommendations/recommend.ts'
import { type GroupQuality, interactionGroup } from '../../../schemas/recommendations/models/run-metrics.ts'
import { seededRandom } from '../../random/random.ts'
import { type Catalogue, type Replay, replay } from '../replay/replay.ts'

export interface Comparison {
  readonly questions: number
  /**
   * Mean NDCG@20 of the lists that the candidate makes. `inForce` is the mean for the version in force or, if there is
   * none, for the lists that are made by rules.
   */
  readonly candidate: number
  readonly inForce: number
  /** The means of both versions for groups of test cases, by the number of the user's earlier interactions. */
  readonly groups: readonly GroupQuality[]
  /**
   * Bounds of the 95 % interval of the difference `candidate - inForce`. With fewer than two users, the interval is -1
   * to 1.
   */
  readonly low: number
  readonly high: number
}

export interface Compared extends Replay {
  readonly candidate: RecommendationModel
  /** The model in force; undefined if lists are made by rules. */
  readonly inForce: RecommendationModel | undefined
  readonly seed: number
}

const LIST_SIZE = 20
const RESAMPLED = 1_000
const TAIL = 0.025

interface Gain {
  readonly userId: bigint
  readonly interactions: number
  readonly candidate: number
  readonly inForce: number
}

/** Compares both versions on the same test cases. Neither version was trained on the interactions of the test cases. */
export async function compare({ candidate, inForce, seed, ...past }: Compared): Promise<Comparison> {
  const gains: Gain[] = []
  await addNewerItems(past.catalogue, [candidate, inForce])
  await replay(past, ({ userId, interactions, chosen, ask }) => {
    gains.push({ userId, interactions, candidate: ndcg(ask(candidate), chosen), inForce: ndcg(ask(inForce), chosen) })
  })
  const groups = [...Map.groupBy(gains, ({ interactions }) => interactionGroup(interactions))]
    .map(([from, own]) => ({ from, questions: own.length, ...meansOf(own) }))
    .sort((one, other) => one.from - other.from)
  const differences = [...Map.groupBy(gains, ({ userId }) => userId).values()].map((own) => ({
    sum: own.reduce((sum, gain) => sum + gain.candidate - gain.inForce, 0),
    count: own.length,
  }))
  return { questions: gains.length, ...meansOf(gains), groups, ...interval(differences, seed) }
}

/**
 * Adds the most recently changed items to the models, as the API does. Otherwise, the lists of the version in force
 * would lack items that were added after its training, although the API computes vectors for them.
 */
async function addNewerItems({ items }: Catalogue, models: readonly (RecommendationModel | undefined)[]): Promise<void> {
  const newer = newerItems()
  const oldestFirst = [...items].sort(([, one], [, other]) => one.updated_at - other.updated_at)
  for (const [itemId, item] of oldestFirst.slice(-MOST_NEWER_ITEMS)) newer.put(itemId, item, [])
  for (const model of models) if (model !== undefined) await newer.fill(model)
}

/**
 * Computes NDCG (Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques") with gains of 0 and 1.
 */
function ndcg({ list }: Pick<Recommended, 'list'>, chosen: ReadonlySet<bigint>): number {
  let gain = 0
  let best = 0
  for (let place = 0; place < LIST_SIZE; place++) {
    const discount = 1 / Math.log2(place + 2)
    if (place < list.length && chosen.has(list[place].candidate.itemId)) gain += discount
    if (place < chosen.size) best += discount
  }
  return best === 0 ? 0 : gain / best
}

/**
 * Computes the interval by a bootstrap that draws users instead of test cases, because the test cases of one user
 * resemble each other.
 */
function interval(users: readonly { readonly sum: number; readonly count: number }[], seed: number): { low: number; high: number } {
  // The test cases of a single user say nothing about how much users differ, so any difference is possible.
  if (users.length < 2) return { low: -1, high: 1 }
  const random = seededRandom(seed)
  const means = Float64Array.from({ length: RESAMPLED }, () => {
    let [sum, count] = [0, 0]
    for (let draw = 0; draw < users.length; draw++) {
      const user = users[Math.floor(random() * users.length)]
      sum += user.sum
      count += user.count
    }
    return sum / count
  }).sort()
  return { low: means[Math.floor(RESAMPLED * TAIL)], high: means[Math.ceil(RESAMPLED * (1 - TAIL)) - 1] }
}

function meansOf(gains: readonly Gain[]) {
  return { candidate: meanOf(gains.map((gain) => gain.candidate)), inForce: meanOf(gains.map((gain) => gain.inForce)) }
}

function meanOf(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length
}
