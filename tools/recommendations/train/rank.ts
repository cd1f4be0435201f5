import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { RANKING_FEATURES, RANKING_WIDTH } from '../../../schemas/recommendations/ranking/ranking-features.ts'
import { type PythonPlace, runPython } from '../python/run.ts'

/** A list that was shown or replayed, with the user's choices after it. */
export interface JudgedList {
  /** The features of all candidates, `RANKING_WIDTH` numbers for each. */
  readonly features: Float64Array
  /**
   * The label of each candidate: CHOSEN_NEXT if the candidate is known to be the user's next choice, CHOSEN if the user
   * chose it within half an hour, and 0 for all other candidates.
   */
  readonly labels: Uint8Array
  /**
   * The position of each candidate, from 0, if the list was shown. Training corrects for positions, because items at
   * the top are chosen more often even if they are no better.
   */
  readonly positions?: Uint32Array
}

/** Labels of candidates. LightGBM's gain for a candidate at the top is 2 to the power of its label, minus 1. */
export const CHOSEN = 1
export const CHOSEN_NEXT = 3

const TREES = 100
const LEAVES = 31
const RATE = 0.06
/**
 * Minimum number of candidates per leaf, because smaller leaves would reflect chance. A small history cannot fill large
 * leaves, so the minimum is a share of the number of candidates, within these bounds.
 */
const LEAST_ROWS = { share: 1 / 200, most: 100, least: 5 }
/**
 * Number of positions that training optimises. A list shows 20 items, but it also helps to optimise the order of the
 * next few items.
 */
const TRUNCATION = 25
/** Number of threads. On a machine with two cores, one core stays free for requests. */
const THREADS = 1

export interface Ranking extends PythonPlace {
  /** The folder of the bundle. */
  readonly folder: string
  readonly lists: readonly JudgedList[]
  readonly seed: number
  readonly signal?: AbortSignal
}

/** Trains the trees on lists, and writes the trees into the folder of a bundle. */
export async function learnToRank({ folder, tools, python, lists, seed, signal }: Ranking): Promise<void> {
  const rows = lists.reduce((sum, { labels }) => sum + labels.length, 0)
  const features = new Float64Array(rows * RANKING_WIDTH)
  const labels = new Uint8Array(rows)
  const positions = lists.every((list) => list.positions !== undefined) ? new Uint32Array(rows) : undefined
  let at = 0
  for (const list of lists) {
    features.set(list.features, at * RANKING_WIDTH)
    labels.set(list.labels, at)
    positions?.set(list.positions as Uint32Array, at)
    at += list.labels.length
  }
  await writeFile(join(folder, 'features.f64'), features)
  await writeFile(join(folder, 'labels.u8'), labels)
  await writeFile(
    join(folder, 'groups.u32'),
    Uint32Array.from(lists, (list) => list.labels.length),
  )
  if (positions !== undefined) await writeFile(join(folder, 'positions.u32'), positions)
  const leastRows = Math.min(LEAST_ROWS.most, Math.max(LEAST_ROWS.least, Math.floor(rows * LEAST_ROWS.share)))
  const shape = { trees: TREES, leaves: LEAVES, rate: RATE, least_rows: leastRows, truncation: TRUNCATION }
  const job = { folder, columns: RANKING_FEATURES, positions: positions !== undefined, ...shape, threads: THREADS, seed }
  await runPython({ program: 'rank', job, tools, python, signal })
}
