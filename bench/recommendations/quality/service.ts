import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type OpenModel, openModel } from '../../../api/recommendations/model/open.ts'
import { toolsFolder } from '../../../tools/config.ts'
import { type History, historyBuilder } from '../../../tools/recommendations/history/history.ts'
import { type Catalogue, replay } from '../../../tools/recommendations/replay/replay.ts'
import { BUNDLE_FOLDER, trainCandidate } from '../../../tools/recommendations/train/train-version.ts'
import type { Rating } from './ratings.ts'
import { LIST, type Quality, SEGMENTS } from './sequence.ts'

/** Quality of one kind of lists, such as the service's lists by rules without a model. */
export interface ServiceQuality {
  readonly name: string
  readonly segments: readonly Quality[]
  /** Share of all items that were recommended to at least one user. */
  readonly coverage: number
  /** Mean number of different genres in a list of up to 20 items. Only the first genre of each item counts. */
  readonly genres: number
}

interface Tally {
  readonly name: string
  readonly segments: { questions: number; hits: number; gain: number }[]
  readonly shown: Set<bigint>
  genreSum: number
}

const SEED = 1
const MS_PER_SECOND = 1_000
const HISTORY = 100

/**
 * Trains once on the first ratings. Then, before each later good rating, requests lists by rules and lists by the model
 * from the serving code. For comparison, also finds the items that are nearest to the user's vector.
 */
export async function askService(
  ratings: readonly Rating[],
  trained: number,
  films: Catalogue['items'],
): Promise<{ results: readonly ServiceQuality[]; trainingSeconds: number }> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-quality-'))
  const catalogue: Catalogue = { items: films, users: new Map(), preferences: new Map(), editorial: new Map() }
  const history = historyOf(ratings)
  const begun = performance.now()
  const training = {
    folder,
    history,
    catalogue,
    shown: [],
    servedLists: async () => [],
    sequence: 1,
    trainedAt: 0,
    seed: SEED,
    tools: toolsFolder(),
  }
  const { version } = await trainCandidate(training, trained)
  if (version === undefined) throw new Error('there are too few lists to learn from')
  const trainingSeconds = (performance.now() - begun) / MS_PER_SECOND
  const model = await openModel(join(folder, BUNDLE_FOLDER))
  try {
    return { results: await ask(history, trained, catalogue, model), trainingSeconds }
  } finally {
    model.close()
    await rm(folder, { recursive: true, force: true })
  }
}

async function ask(history: History, trained: number, catalogue: Catalogue, model: OpenModel): Promise<ServiceQuality[]> {
  const names = ['implicit, frozen', 'implicit, folded in', 'rules', 'rules as served', 'model', 'model as served']
  const tallies = names.map((name): Tally => {
    const segments = SEGMENTS.map(() => ({ questions: 0, hits: 0, gain: 0 }))
    return { name, segments, shown: new Set(), genreSum: 0 }
  })
  const genreOf = (itemId: bigint) => catalogue.items.get(itemId)?.attributes.genres.split('|')[0] ?? ''
  const past = { history, catalogue, shown: [], from: trained, to: history.count, questions: history.count }
  const own = ownHistories(history)
  await replay(past, ({ index, userId, ask: askWorld }) => {
    const wanted = history.itemIds[index]
    const known = own(userId, index)
    const segment = SEGMENTS.findLastIndex((from) => known.length >= from)
    const rules = askWorld(undefined)
    const whole = askWorld(model)
    const rated = new Set(known.map(({ itemId }) => itemId))
    const byVector = (from: readonly { itemId: bigint; weight: number }[]) => {
      const vector = model.foldIn(from.slice(-HISTORY))
      const near = vector === undefined ? [] : model.nearest(vector, LIST + rated.size)
      return near.map(({ itemId }) => itemId).filter((itemId) => !rated.has(itemId))
    }
    const lists = [
      byVector(known.filter(({ at }) => at < trained)),
      byVector(known),
      byScore(rules.candidates),
      rules.list.map(({ candidate }) => candidate.itemId),
      byScore(whole.candidates),
      whole.list.map(({ candidate }) => candidate.itemId),
    ]
    for (const [at, list] of lists.entries()) count(tallies[at], segment, list.slice(0, LIST), wanted, genreOf)
  })
  return tallies.map(({ name, segments, shown, genreSum }) => {
    const questions = segments.reduce((sum, part) => sum + part.questions, 0)
    return { name, segments, coverage: shown.size / catalogue.items.size, genres: genreSum / questions }
  })
}

function count(tally: Tally, segment: number, list: readonly bigint[], wanted: bigint, genreOf: (itemId: bigint) => string): void {
  const part = tally.segments[segment]
  part.questions++
  const place = list.indexOf(wanted)
  if (place >= 0) {
    part.hits++
    part.gain += 1 / Math.log2(place + 2)
  }
  for (const itemId of list) tally.shown.add(itemId)
  tally.genreSum += new Set(list.map(genreOf)).size
}

function byScore(candidates: readonly { readonly candidate: { readonly itemId: bigint }; readonly score: number }[]): bigint[] {
  return [...candidates].sort((one, other) => other.score - one.score).map(({ candidate }) => candidate.itemId)
}

/**
 * Returns a function that looks up the ratings that a user made before the rating with a given index. The index must
 * not decrease from call to call.
 */
function ownHistories({ userIds, itemIds, weights }: History) {
  const own = new Map<bigint, { itemId: bigint; weight: number; at: number }[]>()
  let upTo = 0
  return (userId: bigint, index: number) => {
    for (; upTo < index; upTo++) {
      const list = own.get(userIds[upTo]) ?? []
      own.set(userIds[upTo], list)
      list.push({ itemId: itemIds[upTo], weight: weights[upTo], at: upTo })
    }
    return own.get(userId) ?? []
  }
}

function historyOf(ratings: readonly Rating[]): History {
  const builder = historyBuilder()
  for (const { user, item, stars, at } of ratings) {
    const rating = { event_type: 'RATE', rating: stars, watch_pct: null, dwell_time_sec: null } as const
    const timestamp = at * MS_PER_SECOND
    builder.add(BigInt(user), { ...rating, item_id: BigInt(item), timestamp, withdrawn: false, rec_request_id: null })
  }
  return builder.build()
}
