import { join } from 'node:path'
import { BUNDLE_FORMAT, DIMENSIONS } from '../../../api/recommendations/model/manifest.ts'
import type { RecommendationModel } from '../../../api/recommendations/model/model.ts'
import { openModel, openVectors } from '../../../api/recommendations/model/open.ts'
import { groupMetrics, NDCG_CANDIDATE, NDCG_IN_FORCE } from '../../../schemas/recommendations/models/run-metrics.ts'
import type { History } from '../history/history.ts'
import type { ShownList } from '../history/shown.ts'
import type { PythonPlace } from '../python/run.ts'
import type { Catalogue } from '../replay/replay.ts'
import { compare } from './compare.ts'
import { factorise, type WeightedInteractions } from './factorise.ts'
import { trainBundle } from './make-bundle.ts'
import type { JudgedList } from './rank.ts'
import { replayedLists } from './replayed-lists.ts'

/** The model in force, which is open, and the time at which it was trained. */
export interface ModelInForce {
  readonly model: RecommendationModel
  /** Epoch ms. */
  readonly trainedAt: number
}

export interface VersionTraining extends PythonPlace {
  /**
   * The folder of the training run. The files of the candidate and its training data are written to its subfolder
   * `BUNDLE_FOLDER`, which must be empty or missing.
   */
  readonly folder: string
  readonly history: History
  readonly catalogue: Catalogue
  /** Lists that users were shown, in chronological order. */
  readonly shown: readonly ShownList[]
  /** The model in force; undefined if lists are made by rules. */
  readonly inForce: ModelInForce | undefined
  /**
   * Returns lists that were shown before a time, with the users' choices after them. If there are too few of these
   * lists, they are not used.
   */
  servedLists(before: number): Promise<readonly JudgedList[]>
  readonly sequence: number
  /** Epoch ms. */
  readonly trainedAt: number
  readonly seed: number
  readonly signal?: AbortSignal
}

export type TrainingOutcome =
  | { readonly state: 'SKIPPED'; readonly reason: string; readonly metrics: Metrics }
  | {
      readonly state: 'IN_FORCE' | 'REFUSED'
      readonly reason: string
      readonly version: string
      /** The candidate has learned only from events before this time, epoch ms. */
      readonly learnedUntil: number
      readonly metrics: Metrics
    }

type Metrics = Readonly<Record<string, number>>

/** Name of the subfolder that contains the files of a trained version. */
export const BUNDLE_FOLDER = 'bundle'
/** Minimum number of interactions. With fewer interactions or users, training would find no similarities. */
const LEAST_INTERACTIONS = 100
const LEAST_USERS = 2
/** Minimum number of lists. With fewer lists, the trees would learn no more than the rules already contain. */
const LEAST_LISTS = 10
/** Minimum number of served lists from which the ranker learns. If there are fewer, it learns from replayed lists. */
const ENOUGH_SERVED = 10_000
/** Share of the history that provides test cases while no model is in force. It consists of the newest interactions. */
const NEWEST_SHARE = 0.1
/**
 * Maximum share of the history that provides test cases. The rest is left for training, even if the whole history is
 * newer than the model in force. Without this limit, nothing would be left, so this model would never be replaced.
 */
const MOST_COMPARED_SHARE = 0.5
/**
 * Share of the training data from which lists for the ranker are replayed. The vectors in these lists are trained only
 * on earlier data.
 */
const LISTED_SHARE = 0.2
const MOST_LISTS = 8_000
const MOST_QUESTIONS = 2_000
/**
 * Minimum number of test cases. With fewer test cases, chance would decide the comparison, so the candidate goes into
 * force without a comparison.
 */
const LEAST_QUESTIONS = 200

/**
 * Trains a candidate and compares it with the version in force, or with the rules if there is none. Neither version was
 * trained on the interactions that both have to predict; see docs/services/recommendations.md#training.
 */
export async function trainVersion(training: VersionTraining): Promise<TrainingOutcome> {
  const { history, inForce, folder, seed } = training
  const learned =
    inForce === undefined
      ? Math.floor(history.count * (1 - NEWEST_SHARE))
      : Math.max(history.firstSince(inForce.trainedAt), Math.floor(history.count * (1 - MOST_COMPARED_SHARE)))
  const users = new Set(history.userIds.subarray(0, learned)).size
  const sizes = { interactions: history.count, learned, users }
  if (learned < LEAST_INTERACTIONS || users < LEAST_USERS) {
    const reason = `${learned} interactions of ${users} users are too few to learn from; ${LEAST_INTERACTIONS} interactions of ${LEAST_USERS} users are needed`
    return { state: 'SKIPPED', reason, metrics: sizes }
  }
  if (learned === history.count) {
    return { state: 'SKIPPED', reason: 'nothing has happened since the version in force was trained', metrics: sizes }
  }
  const trained = await trainCandidate(training, learned)
  if (trained.version === undefined) {
    return { state: 'SKIPPED', reason: `${trained.lists} lists are too few to learn from; ${LEAST_LISTS} are needed`, metrics: sizes }
  }
  const candidate = await openModel(join(folder, BUNDLE_FOLDER))
  try {
    const { questions, groups, ...gains } = await compare({
      ...training,
      candidate,
      inForce: inForce?.model,
      from: learned,
      to: history.count,
      questions: MOST_QUESTIONS,
      seed,
    })
    const metrics = {
      ...sizes,
      lists: trained.lists,
      questions,
      [NDCG_CANDIDATE]: gains.candidate,
      [NDCG_IN_FORCE]: gains.inForce,
      difference_low: gains.low,
      difference_high: gains.high,
      ...Object.assign({}, ...groups.map(groupMetrics)),
    }
    const verdict = verdictOf(questions, gains.high)
    return { ...verdict, version: trained.version, learnedUntil: history.times[learned], metrics }
  } finally {
    candidate.close()
  }
}

/**
 * Trains on the beginning of a history, and writes the files to `BUNDLE_FOLDER`.
 * @param learned number of interactions, from the first one, on which the candidate is trained
 * @returns the number of lists from which the ranker learned; `version` is undefined if there were too few lists
 */
export async function trainCandidate(
  training: Omit<VersionTraining, 'inForce'>,
  learned: number,
): Promise<{ readonly lists: number; readonly version: string | undefined }> {
  const lists = await listsFor(training, learned)
  if (lists.length < LEAST_LISTS) return { lists: lists.length, version: undefined }
  const folder = join(training.folder, BUNDLE_FOLDER)
  return { lists: lists.length, version: await trainBundle({ ...training, ...factorisationOf(training, learned), folder, lists }) }
}

function verdictOf(questions: number, high: number): { state: 'IN_FORCE' | 'REFUSED'; reason: string } {
  if (questions < LEAST_QUESTIONS) return { state: 'IN_FORCE', reason: `${questions} test cases are too few for a comparison` }
  if (high < 0) return { state: 'REFUSED', reason: 'its lists are worse than the current ones' }
  return { state: 'IN_FORCE', reason: '' }
}

async function listsFor(training: Omit<VersionTraining, 'inForce'>, learned: number): Promise<readonly JudgedList[]> {
  const served = await training.servedLists(training.history.times[learned])
  if (served.length >= ENOUGH_SERVED) return served
  const { folder, seed } = training
  const from = Math.floor(learned * (1 - LISTED_SHARE))
  const teacher = join(folder, 'teacher')
  const { items, regularization, greatestLength } = await factorise({ ...training, ...factorisationOf(training, from), folder: teacher })
  const vectors = await openVectors(teacher, {
    format: BUNDLE_FORMAT,
    dimensions: DIMENSIONS,
    items,
    regularization,
    greatest_length: greatestLength,
  })
  try {
    const model = { ...vectors, version: 'teacher', sequence: training.sequence, trainedAt: training.trainedAt, score: () => undefined }
    return await replayedLists({ ...training, model, from, to: learned, questions: MOST_LISTS, seed })
  } finally {
    vectors.close()
  }
}

function factorisationOf({ history, catalogue }: Pick<VersionTraining, 'history' | 'catalogue'>, count: number) {
  const interactions: WeightedInteractions = {
    userIds: history.userIds.subarray(0, count),
    itemIds: history.itemIds.subarray(0, count),
    weights: history.weights.subarray(0, count),
  }
  function contentOf(itemId: bigint) {
    const item = catalogue.items.get(itemId)
    return item && { title: item.title, categoryPath: item.category_path, attributes: item.attributes }
  }
  return { interactions, contentOf }
}
