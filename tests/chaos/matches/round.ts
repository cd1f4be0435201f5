import { setTimeout as delay } from 'node:timers/promises'
import { waitUntil } from '../../../deploy/local/wait.ts'
import { matchSeen } from '../../../schemas/matches/topics.ts'
import { integer, seededRandom } from '../../../tools/random/random.ts'
import type { MatchesSystem } from '../../api/matches/system.ts'
import { type Judged, judgeUntilRight } from '../judge.ts'
import { keepLines, numbered } from '../keep-logs.ts'
import { RECOVERED, ready, recover } from '../recover.ts'
import { excusedByAbsence } from './accepted.ts'
import { deletionsOf } from './deletions.ts'
import { depart } from './departures.ts'
import { onlyRefused, perform } from './episodes.ts'
import type { Evidence } from './evidence.ts'
import { inflict } from './faults.ts'
import { listsOf, observer, watchView } from './observe.ts'
import { APIS, type Plan } from './plan.ts'
import { type Asked, type Client, client } from './requests.ts'
import { shown } from './shown.ts'
import { userIds } from './user-ids.ts'
import { faultsOf } from './verdict.ts'

/**
 * Mean time between two feed requests of a user. The rate is well below the limit of 60 a minute. Each pause is up to
 * 50 % longer or shorter.
 */
const READ_EVERY_MS = 2_500
/**
 * Number of towns. Each round has its own town, far from the others, so that users of different rounds do not find each
 * other.
 */
const TOWNS = 300
const TOWNS_PER_ROW = 20
const DEGREES_APART = 8
/** Distance of a move in degrees. It leads into another geohash-6 cell, but is too short to count as a jump. */
const NEXT_CELL_DEGREES = 0.0056

export interface RoundResult extends Judged<Evidence> {
  readonly summary: string
}

/** Plays one round with new users in a new town, and judges it after the system has recovered. */
export async function playRound(system: MatchesSystem, plan: Plan, town: number, say: (text: string) => void): Promise<RoundResult> {
  const { apis } = system
  const asked: Asked[] = []
  const here = {
    lat: -60 + (Math.floor(town / TOWNS_PER_ROW) % (TOWNS / TOWNS_PER_ROW)) * DEGREES_APART,
    lon: -80 + (town % TOWNS_PER_ROW) * DEGREES_APART,
  }
  const newClient = async (who: { readonly id?: string; readonly scope?: string }) => {
    const { id, token } = await system.user(who)
    return client(
      id,
      token,
      (api) => apis[api].url,
      (one) => void asked.push(one),
    )
  }
  const users = userIds(plan.users)
  const clients = await Promise.all(users.map((id) => newClient({ id })))
  const detector = await newClient({ scope: 'internal' })
  await settle(clients, here)
  asked.length = 0

  const view = watchView(system.redis.address, system.partitionsOf(matchSeen))
  const reading = { isOver: false }
  const readers = clients.map((who, index) => readFeeds(who, index, plan.seed, here, reading))
  const episodes = plan.episodes.map(async (episode) => {
    await delay(episode.atMs)
    await perform(episode, { clients, detector })
  })
  const departures = plan.departures.map(async (departure) => {
    await delay(departure.atMs)
    await depart(departure, { clients }, here)
  })
  const inflicted = await inflict(system, plan.faults, say)
  await Promise.all([...episodes, ...departures])
  reading.isOver = true
  await Promise.all(readers)
  await ready(apis, system.workers)
  for (const episode of onlyRefused(plan.episodes, asked)) await perform(episode, { clients, detector })
  await recover(apis, system.workers)
  const during = [...asked]
  // All users with a profile report a place, because the pipeline outputs a user's score only after the user has
  // reported a place.
  const gone = new Set(plan.departures.filter(({ returns }) => !returns).map(({ user }) => clients[user].id))
  const present = clients.filter(({ id }) => !gone.has(id))
  await Promise.all(present.map((who, index) => locate(who, index, here)))

  const observed = await observer(system, users)
  try {
    const evidence = async (): Promise<Evidence> => {
      const [logs, tables, remains, lists] = await Promise.all([
        observed.logs(),
        observed.tables(),
        observed.remainsOf([...gone]),
        Promise.all(present.map(async (who, index) => [who.id, await listsOf(who, index % APIS, aside(here, -1))] as const)),
      ])
      const delivered = system.pushes.received.filter(({ body }) => users.includes(body.data.user_id))
      return { users, asked: during, inflicted, logs, tables, delivered, lists: new Map(lists), view: view.samples, remains }
    }
    const judged = await judgeUntilRight(evidence, faultsOf, view.stop)
    return { ...judged, summary: summaryOf(judged.evidence) }
  } finally {
    view.stop()
    await observed.close()
  }
}

interface Here {
  readonly lat: number
  readonly lon: number
}

function aside({ lat, lon }: Here, cells: number): string {
  return `lat=${(lat + cells * NEXT_CELL_DEGREES).toFixed(6)}&lon=${lon}`
}

/** Gives every user a profile and a place, and waits until the first user finds all others. */
async function settle(clients: readonly Client[], here: Here): Promise<void> {
  await Promise.all(
    clients.map(async (who, index) => {
      const body = { display_name: `User ${index}`, birth_date: '1990-05-01' }
      const { status, body: answer } = await who.ask({ kind: 'location', api: index % APIS, method: 'PUT', path: 'me', body })
      if (status !== 201) throw new Error(`creating a profile returned status ${status} ${JSON.stringify(answer)}`)
      await locate(who, index, here)
    }),
  )
  const [first] = clients
  // The API reuses the candidates that it found for a place, so successive requests come from different places.
  let look = 1
  await waitUntil(async () => (await listsOf(first, 0, aside(here, look++ % 2))).feed.length === clients.length - 1, {
    what: 'all users in a feed',
    timeoutMs: RECOVERED.timeoutMs,
    intervalMs: 1_500,
  })
}

async function locate(who: Client, index: number, { lat, lon }: Here): Promise<void> {
  const body = { lat, lon, accuracy_m: 20 }
  const place = () => who.ask({ kind: 'location', api: index % APIS, method: 'POST', body })
  await waitUntil(async () => (await place()).status === 204, { what: `the place of user ${index}`, timeoutMs: 30_000, intervalMs: 2_000 })
}

/**
 * Repeatedly reads the feed, about half of the time from one of two places, so that some requests search for candidates
 * and others get stored ones.
 */
async function readFeeds(who: Client, index: number, seed: number, here: Here, state: { readonly isOver: boolean }): Promise<void> {
  const random = seededRandom(seed * 1_000 + index)
  while (!state.isOver) {
    const query = random() < 0.5 ? `?limit=50&${aside(here, integer(random, 2))}` : '?limit=50'
    await who.ask({ kind: 'feed', api: integer(random, APIS), path: `feed${query}` })
    await delay(READ_EVERY_MS * (0.5 + random()))
  }
}

function summaryOf(evidence: Evidence): string {
  const { asked, logs } = evidence
  const answers = Map.groupBy(asked, ({ kind, status }) => `${kind} ${status}`)
  const counts = [...answers].map(([what, { length }]) => `${what}: ${length}`).toSorted()
  return `${counts.join(', ')}; ${logs.swipeEvents.length} swipes in the log, ${logs.matchEvents.length} matches, ${shown(evidence).excused} excused, ${deletionsOf(evidence).size} users left, ${excusedByAbsence(evidence)} refusals excused by absences`
}

/**
 * Copies the logs of the servers, and the logs and status reports of the workers and the APIs, to the target folder.
 * @returns the target
 */
export function keepMatchesLogs({ folder, workers, apis }: MatchesSystem, target: string): Promise<string> {
  return keepLines(folder.path, { ...numbered('worker', workers), ...numbered('api', apis) }, target)
}
