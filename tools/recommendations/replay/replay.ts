import type { RecommendationModel } from '../../../api/recommendations/model/model.ts'
import type { Recommended } from '../../../api/recommendations/recommend.ts'
import type { EditorialList, RecommendationItem, RecommendationUser, UserPreferences } from '../../../schemas/recommendations/types.ts'
import type { History } from '../history/history.ts'
import type { ShownList } from '../history/shown.ts'
import { type ReplayWorld, replayWorld } from './world.ts'

/** All data about items, users and editors' lists that a replay needs, apart from interactions. */
export interface Catalogue {
  readonly items: ReadonlyMap<bigint, RecommendationItem>
  readonly users: ReadonlyMap<bigint, RecommendationUser>
  readonly preferences: ReadonlyMap<bigint, UserPreferences>
  readonly editorial: ReadonlyMap<string, EditorialList>
}

/** A test case of a replay: a time in the past at which a user chose an item. */
export interface Question {
  readonly index: number
  readonly userId: bigint
  /** Number of the user's interactions that the replay has applied so far. */
  readonly interactions: number
  /** The items that the user chose within half an hour after the time of the test case. */
  readonly chosen: ReadonlySet<bigint>
  ask(model: RecommendationModel | undefined): Recommended
}

export interface Replay {
  readonly history: History
  readonly catalogue: Catalogue
  /** Lists that users were shown, in chronological order. */
  readonly shown: readonly ShownList[]
  /** Range of interactions, by index, that provide the test cases; `to` is exclusive. */
  readonly from: number
  readonly to: number
  /** Maximum number of test cases. They are spread evenly over the range. */
  readonly questions: number
  readonly signal?: AbortSignal
}

/**
 * How soon after a list the user must choose an item so that the choice counts as a success of the list. A pause of
 * this length also ends a session.
 */
export const FOLLOWED_MS = 30 * 60_000
/**
 * Maximum number of interactions in a replay, unless the test cases come from a longer range. Older interactions would
 * cost time but hardly affect the statistics.
 */
const MOST_REPLAYED = 300_000
/** Number of interactions after which the replay yields to other tasks of the process. */
const PER_TURN = 2_000

/**
 * Replays a history. Reports each test case just before the interaction that it is about. Skips a test case if the user
 * has already watched its item, because lists leave out such items.
 */
export async function replay(
  { history, catalogue, shown, from, to, questions, signal }: Replay,
  onQuestion: (question: Question) => void,
): Promise<void> {
  const world = worldOf(catalogue)
  const start = Math.max(0, to - Math.max(MOST_REPLAYED, to - from))
  const due = questionsOf(history, from, to, questions)
  const applied = new Map<bigint, number>()
  // Each list is compared with the clicks that follow it. The replay does not contain all clicks on lists that were
  // shown before the first replayed interaction, so these lists are skipped.
  let list = shown.findIndex(({ at }) => at >= history.times[start])
  for (let index = start; index < to; index++) {
    if ((index - start) % PER_TURN === 0) await turn(signal)
    const userId = history.userIds[index]
    const now = history.times[index]
    while (list >= 0 && list < shown.length && shown[list].at < now) world.show(shown[list++])
    if (due.has(index) && !world.hasWatched(userId, history.itemIds[index], now)) {
      const chosen = chosenFrom(history, index, to)
      // The interaction may have followed a list that was shown only a moment ago. When the user requested that list,
      // it did not count as shown yet, so lists from the last half hour are ignored.
      const shownUntil = now - FOLLOWED_MS
      const ask = (model: RecommendationModel | undefined) => world.ask(userId, now, model, shownUntil)
      onQuestion({ index, userId, interactions: applied.get(userId) ?? 0, chosen, ask })
    }
    world.apply(userId, history.at(index))
    applied.set(userId, (applied.get(userId) ?? 0) + 1)
  }
}

function worldOf({ items, users, preferences, editorial }: Catalogue): ReplayWorld {
  const world = replayWorld()
  for (const [itemId, item] of items) world.putItem(itemId, item)
  for (const [userId, user] of users) world.putUser(userId, user)
  for (const [userId, stated] of preferences) world.putPreferences(userId, stated)
  for (const [name, list] of editorial) world.putEditorial(name, list)
  return world
}

/** Selects test cases that are spread evenly over the interactions in which a user chose an item. */
function questionsOf(history: History, from: number, to: number, most: number): Set<number> {
  const possible: number[] = []
  for (let index = from; index < to; index++) if (history.isChosen(index)) possible.push(index)
  const count = Math.min(most, possible.length)
  return new Set(Array.from({ length: count }, (_, place) => possible[Math.floor((place * possible.length) / count)]))
}

function chosenFrom(history: History, first: number, to: number): Set<bigint> {
  const chosen = new Set<bigint>()
  const end = history.times[first] + FOLLOWED_MS
  for (let index = first; index >= 0 && index < to && history.times[index] <= end; index = history.next(index)) {
    if (history.isChosen(index)) chosen.add(history.itemIds[index])
  }
  return chosen
}

async function turn(signal: AbortSignal | undefined): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
  signal?.throwIfAborted()
}
