import type { Candidate } from '../../../api/recommendations/candidates/candidate.ts'
import { DEFAULT_BOOST } from '../../../api/recommendations/candidates/editorial.ts'
import { itemTable } from '../../../api/recommendations/items/item-table.ts'
import { leaders } from '../../../api/recommendations/items/leaders.ts'
import { type OpenModel, openModel } from '../../../api/recommendations/model/open.ts'
import { type RecommendSources, recommend } from '../../../api/recommendations/recommend.ts'
import { type RequestUser, unknownUser } from '../../../api/recommendations/users/request-user.ts'
import type { Neighbour } from '../../../schemas/recommendations/signals/packed-neighbours.ts'
import { integer, type Random, seededRandom } from '../../../tools/random/random.ts'
import { quantile, row } from '../../harness/table.ts'
import { itemIdOf } from './bundle.ts'
import { itemOf, statsOf } from './items.ts'
import type { PartInput } from './part.ts'
import type { World } from './world.ts'

const SEED = 41
const WARM_UP = 300
const LISTS = 2_000
const DIFFERENT_USERS = 500
const MOST_HISTORY = 100
const LAST_ITEMS = 5
const RECENT_ITEMS = 10
const NEIGHBOURS = 50
const LISTED = 50
const HOUR_MS = 3_600_000
const US_PER_MS = 1_000

/**
 * The steps that the model performs while a list is computed. The remaining steps choose the candidates, compute their
 * features, and arrange the list.
 */
const PARTS = [
  'fold in the user',
  'search the vectors',
  'products with all candidates',
  'similar items by vector',
  'score by trees',
] as const

/** Measures the cost of computing a list in this process, without HTTP and Redis. */
export async function measureLists({ world, bundle, say }: PartInput): Promise<void> {
  const model = await openModel(bundle)
  const { timed, spent } = timedModel(model)
  const random = seededRandom(SEED)
  const now = Date.now()
  const sources = sourcesOf(world, random, now)
  const users = Array.from({ length: DIFFERENT_USERS }, () => userOf(world, random, now))
  const times: number[] = []
  let candidates = 0
  let before = cpuMsNow()
  let cpu = before
  try {
    for (let list = -WARM_UP; list < LISTS; list++) {
      if (list === 0) {
        spent.fill(0)
        before = cpuMsNow()
      }
      const { user, neighbours } = users[integer(random, users.length)]
      const begun = performance.now()
      const made = recommend(sources, {
        user,
        neighbours,
        recType: 'personalized',
        context: 'homepage',
        anchor: undefined,
        model: timed,
        diversity: false,
        now,
      })
      if (list < 0) continue
      times.push(performance.now() - begun)
      candidates += made.candidates.length
    }
    cpu = cpuMsNow()
  } finally {
    model.close()
  }
  const mean = times.reduce((sum, ms) => sum + ms, 0) / LISTS
  const rest = mean - spent.reduce((sum, ms) => sum + ms, 0) / LISTS
  const sorted = times.toSorted((a, b) => a - b)
  say(
    `\n### A list is computed in one process, without HTTP and Redis, from ${Math.round(candidates / LISTS)} candidates on average (target: 5 ms)\n`,
  )
  say(row(['part', 'ms per list']))
  say(row(['---', '--:']))
  PARTS.forEach((name, part) => void say(row([name, (spent[part] / LISTS).toFixed(3)])))
  say(row(['candidates, features, arranging', rest.toFixed(3)]))
  say(row(['**whole list**', mean.toFixed(3)]))
  say(row(['CPU time of the process, with garbage collection', ((cpu.process - before.process) / LISTS).toFixed(3)]))
  say(row(['of this, on the event loop', ((cpu.main - before.main) / LISTS).toFixed(3)]))
  say(row(['P50 and P99 of whole lists', `${quantile(sorted, 0.5).toFixed(2)}, ${quantile(sorted, 0.99).toFixed(2)}`]))
}

/** Returns the CPU time that the process has used so far, and that of its main thread alone, in ms. */
function cpuMsNow(): { readonly process: number; readonly main: number } {
  const msOf = ({ user, system }: NodeJS.CpuUsage) => (user + system) / US_PER_MS
  return { process: msOf(process.cpuUsage()), main: msOf(process.threadCpuUsage()) }
}

/** Wraps a model, so that each of the steps in PARTS adds its duration in ms to an element of `spent`. */
function timedModel(model: OpenModel) {
  const spent = new Float64Array(PARTS.length)
  function timing<A extends unknown[], R>(part: number, ask: (...args: A) => R): (...args: A) => R {
    return function askTimed(...args) {
      const begun = performance.now()
      const answer = ask(...args)
      spent[part] += performance.now() - begun
      return answer
    }
  }
  const timed: OpenModel = {
    ...model,
    foldIn: timing(0, model.foldIn),
    nearest: timing(1, model.nearest),
    productWith: timing(2, model.productWith),
    similarTo: timing(3, model.similarTo),
    score: timing(4, model.score),
  }
  return { timed, spent }
}

function sourcesOf(world: World, random: Random, now: number): RecommendSources {
  const items = itemTable()
  for (let at = 0; at < world.items; at++) {
    items.putItem(itemIdOf(at), itemOf(world, at, now))
    items.putStats(itemIdOf(at), statsOf(random, now))
  }
  const listed = Array.from({ length: 2 * LISTED }, () => itemIdOf(integer(random, world.items)))
  return {
    items,
    leaders: leaders({ items, now: () => now }),
    trendingFor: () => listed.slice(0, LISTED),
    editorialFor: () => listed.slice(LISTED),
    boost: () => DEFAULT_BOOST,
  }
}

function userOf(world: World, random: Random, now: number) {
  const number = world.anyUser(random)
  const length = Math.min(MOST_HISTORY, world.interactionsOf(number))
  const itemIds = Array.from({ length }, () => itemIdOf(world.chosenBy(number, random)))
  const recent = [...new Set(itemIds)].slice(0, RECENT_ITEMS)
  const neighbours = new Map<Candidate['itemId'], readonly Neighbour[]>(
    recent.map((itemId) => [
      itemId,
      Array.from({ length: NEIGHBOURS }, () => ({ itemId: itemIdOf(world.chosenBy(number, random)), weight: 1 + random() })),
    ]),
  )
  const user: RequestUser = {
    ...unknownUser(BigInt(1 + number)),
    interactions: length,
    hoursAway: 1,
    lastViewed: recent.slice(0, LAST_ITEMS),
    recent,
    session: recent.slice(0, LAST_ITEMS),
    history: itemIds.map((itemId, place) => ({ itemId, at: now - place * HOUR_MS, weight: 1, type: 'VIEW' as const })),
    hasWatched: (itemId) => itemIds.includes(itemId),
  }
  return { user, neighbours }
}
