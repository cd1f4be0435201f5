import { setTimeout as delay } from 'node:timers/promises'
import { waitUntil } from '../../../deploy/local/wait.ts'
import { type Judged, judgeUntilRight } from '../judge.ts'
import { keepLines, numbered } from '../keep-logs.ts'
import { RECOVERED, recover } from '../recover.ts'
import { send } from '../send.ts'
import { drive, propertiesOf } from './drive.ts'
import type { Call, Evidence } from './evidence.ts'
import { faultHands } from './faults.ts'
import { behind } from './lists.ts'
import { observer } from './observe.ts'
import { APIS, GENRES, ITEMS, type Plan, PRODUCTS, UNTOUCHED } from './plan.ts'
import { writeProducts } from './products.ts'
import type { RecommendationsSystem } from './system.ts'
import { faultsOf } from './verdict.ts'

export interface RoundResult extends Judged<Evidence> {
  readonly summary: string
}

export interface RoundOptions {
  readonly plan: Plan
  /** Number of the round. Each round on a system has separate users and items. */
  readonly number: number
  readonly judgesTrending: boolean
}

/** How long lists may remain degraded after all parts have recovered. */
const HEALED = { timeoutMs: 60_000, intervalMs: 500 }
/** Number of ids in the range of one round. Ranges of different rounds do not overlap. */
const IDS_PER_ROUND = 1_000
const FIRST_CATEGORY = 500

/** Runs one round, waits until all parts have recovered, and judges the round. */
export async function playRound(
  system: RecommendationsSystem,
  { plan, number, judgesTrending }: RoundOptions,
  say: (text: string) => void,
): Promise<RoundResult> {
  const base = (number + 1) * IDS_PER_ROUND
  const itemOf = (index: number) => String(base + index)
  const users = await Promise.all(
    Array.from({ length: plan.users }, async (_, index) => {
      const id = String(base + index)
      return { id, token: await system.tokenOf(id) }
    }),
  )
  await settle(system, users, itemOf)

  const hands = faultHands(system, say)
  let isOver = false
  const faultless = plan.faults.length === 0
  const urlOf = (api: number) => system.apis[api].url
  const driving = drive(plan, { urlOf, isReady: hands.isReady, isOver: () => isOver, users, itemOf })
  const ids = {
    productOf: (index: number) => Number(itemOf(ITEMS - PRODUCTS + index)),
    categoryOf: (index: number) => base + FIRST_CATEGORY + index,
  }
  const writing = writeProducts(system, plan, ids, () => isOver)
  const inflicted = await hands.inflict(plan.faults).finally(() => {
    isOver = !faultless
  })
  const calls = await driving
  await writing
  await recover(system.apis, system.workers)

  const concerned = {
    users: users.map(({ id }) => id),
    items: Array.from({ length: ITEMS }, (_, index) => itemOf(index)),
    categories: plan.categories.map((_, index) => String(ids.categoryOf(index))),
  }
  const observed = await observer(system, concerned)
  try {
    const final = await currentLists(system, users, async () => (await observed.read()).logs)
    const evidence = async (): Promise<Evidence> => {
      return { ...concerned, calls, inflicted, final, judgesTrending, ...(await observed.read()) }
    }
    const judged = await judgeUntilRight(evidence, faultsOf)
    return { ...judged, summary: summaryOf(judged.evidence) }
  } finally {
    await observed.close()
  }
}

type User = { readonly id: string; readonly token: string }

/**
 * Stores items and the properties of users. Then waits until every API returns to each user a list that is neither
 * empty nor degraded.
 */
async function settle(system: RecommendationsSystem, users: readonly User[], itemOf: (index: number) => string): Promise<void> {
  const put = async (path: string, body: object) => {
    const isStored = async () =>
      (await send(`${system.apis[0].url}/internal/${path}`, { method: 'PUT', token: users[0].token, body })).status === 204
    await waitUntil(isStored, { what: path, ...RECOVERED })
  }
  const known = [...Array(ITEMS - PRODUCTS).keys(), ...Array.from({ length: UNTOUCHED }, (_, index) => ITEMS + index)]
  await Promise.all([
    ...known.map((index) => {
      const attributes = { genres: GENRES[index % GENRES.length] }
      return put(`items/${itemOf(index)}`, { title: `Item ${index}`, attributes, popularity: (index % 10) / 10 })
    }),
    ...users.map(({ id }, index) => put(`users/${id}`, propertiesOf(index))),
  ])
  for (let api = 0; api < APIS; api++)
    for (const user of users)
      await waitUntil(
        async () => {
          const { body } = await readList(system, api, user)
          return body.degraded.length === 0 && body.recommendations.length > 0
        },
        { what: 'a list', ...RECOVERED },
      )
}

async function readList(system: RecommendationsSystem, api: number, { id, token }: User): Promise<Call> {
  const from = Date.now()
  const url = `${system.apis[api].url}/api/v1/recommendations?explain=true&limit=50`
  return { kind: 'list', user: id, api, from, eventIds: [], ...(await send(url, { method: 'GET', token })), to: Date.now() }
}

/**
 * Waits until each user gets a list that is not degraded, and returns these lists. The service logs every list, so this
 * wait must end before the results are compared.
 */
async function healedLists(system: RecommendationsSystem, users: readonly User[]): Promise<Call[]> {
  return await Promise.all(
    users.map(async (user, index) => {
      let list: Call | undefined
      const isWhole = async () => {
        list = await readList(system, index % APIS, user)
        return list.status === 200 && list.body.degraded.length === 0
      }
      await waitUntil(isWhole, { what: `a list of user ${user.id} that is not degraded`, ...HEALED })
      return list!
    }),
  )
}

/**
 * Waits until the list of each user includes the user's last event, and returns these lists. After a long outage, a
 * worker that is ready may still have to process the events of some seconds. If the wait is too long, returns the lists
 * as they are, and the verdict reports them.
 */
async function currentLists(
  system: RecommendationsSystem,
  users: readonly User[],
  readLogs: () => Promise<Evidence['logs']>,
): Promise<Call[]> {
  const until = Date.now() + HEALED.timeoutMs
  for (;;) {
    const final = await healedLists(system, users)
    if (behind({ final, logs: await readLogs() }).length === 0 || Date.now() > until) return final
    await delay(HEALED.intervalMs)
  }
}

function summaryOf({ calls, logs }: Evidence): string {
  const count = (names: readonly string[]) =>
    [...Map.groupBy(names, (name) => name)].map(([what, { length }]) => `${what}: ${length}`).toSorted()
  const lists = calls.filter(({ kind, status }) => (kind === 'list' || kind === 'page') && status === 200)
  return [
    ...count(calls.map(({ kind, status }) => `${kind} ${status}`)),
    ...count(lists.flatMap(({ body }) => (body.degraded as string[]).map((part) => `degraded ${part}`))),
    `${logs.interactions.length} events and ${logs.served.length} lists in the log`,
  ].join(', ')
}

/**
 * Copies the logs of the servers, and the logs and status reports of the workers and the APIs, to the target folder.
 * @returns the target
 */
export function keepRecommendationsLogs({ folder, workers, apis }: RecommendationsSystem, target: string): Promise<string> {
  return keepLines(folder.path, { ...numbered('worker', workers), ...numbered('api', apis) }, target)
}
