import { setTimeout as delay } from 'node:timers/promises'
import { type Sent, send } from '../send.ts'
import type { Call, CallKind } from './evidence.ts'
import { APIS, type Plan, type PlannedAction, type PlannedCall, type PlannedEvent } from './plan.ts'

/**
 * Maximum number of attempts for a write that is not accepted. All attempts together outlast a fault, which takes a few
 * seconds.
 */
const ATTEMPTS = 60
const AGAIN_AFTER_MS = 250
const LOOK_EVERY_MS = 500
const MS_PER_SECOND = 1_000

export interface Driving {
  urlOf(api: number): string
  /** Returns whether a load balancer would send requests to the API. */
  isReady(api: number): boolean
  /** Returns whether the faults have ended. After that, the remaining planned requests are skipped. */
  isOver(): boolean
  readonly users: readonly { readonly id: string; readonly token: string }[]
  itemOf(index: number): string
}

interface Asking extends Pick<Sent, 'method' | 'body'> {
  readonly kind: CallKind
  readonly path: string
  readonly eventIds?: readonly string[]
}

/**
 * Sends the requests of a plan at their planned times, and records the calls. If an API is not ready, its requests go
 * to the next API.
 */
export async function drive(plan: Pick<Plan, 'calls'>, { urlOf, isReady, isOver, users, itemOf }: Driving): Promise<Call[]> {
  const calls: Call[] = []
  const startedAt = Date.now()
  /** The `request_id` of each user's last list. */
  const lastLists = new Map<number, string>()

  async function ask(user: number, wanted: number, { kind, path, method, body, eventIds = [] }: Asking): Promise<Call> {
    const [api = wanted % APIS] = Array.from({ length: APIS }, (_, step) => (wanted + step) % APIS).filter(isReady)
    const { id, token } = users[user]
    const from = Date.now()
    const answer = await send(`${urlOf(api)}/${path}`, { method, token, body })
    const call: Call = { kind, user: id, api, from, to: Date.now(), eventIds, ...answer }
    calls.push(call)
    return call
  }

  async function untilTaken(user: number, api: number, asking: Asking): Promise<void> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const { status } = await ask(user, api + attempt, asking)
      if (status >= 200 && status < 300) return
      await delay(AGAIN_AFTER_MS)
    }
  }

  function bodyOf(event: PlannedEvent, user: number): object {
    const { item, type, id, agoMs, rating, watchPct, dwellSec, followsList } = event
    const metadata = { rating, watch_pct: watchPct, dwell_time_sec: dwellSec }
    const list = lastLists.get(user)
    return {
      item_id: itemOf(item),
      event_type: type,
      event_id: id,
      ...(agoMs !== undefined && { timestamp: (Date.now() - agoMs) / MS_PER_SECOND }),
      ...(followsList && list !== undefined && { context: { rec_request_id: list } }),
      ...(Object.values(metadata).some((value) => value !== undefined) && { metadata }),
    }
  }

  /**
   * Sends events until they are accepted, at most `ATTEMPTS` times. If the plan asks for a repetition, sends the same
   * request later through a different API. A request that contains events without ids is sent only once.
   */
  async function sendEvents(user: number, api: number, action: PlannedAction & { readonly kind: 'events' }): Promise<void> {
    const { events, repeatAfterMs } = action
    const bodies = events.map((event) => bodyOf(event, user))
    const eventIds = events.flatMap(({ id }) => (id === undefined ? [] : [id]))
    const [path, body] = bodies.length === 1 ? ['api/v1/events', bodies[0]] : ['api/v1/events/batch', { events: bodies }]
    const asking: Asking = { kind: 'events', path, method: 'POST', body, eventIds }
    if (eventIds.length < events.length) {
      await ask(user, api, asking)
      return
    }
    await untilTaken(user, api, asking)
    if (repeatAfterMs === undefined) return
    await delay(repeatAfterMs)
    await untilTaken(user, api + 1, asking)
  }

  async function readList(user: number, api: number, query: string, hasNextPage: boolean): Promise<void> {
    const { status, body } = await ask(user, api, { kind: 'list', path: `api/v1/recommendations?explain=true&${query}`, method: 'GET' })
    if (status !== 200) return
    lastLists.set(user, body.request_id)
    if (!hasNextPage || body.page_token === null) return
    await ask(user, api + 1, {
      kind: 'page',
      path: `api/v1/recommendations?explain=true&limit=10&page_token=${body.page_token}`,
      method: 'GET',
    })
  }

  async function perform({ user, api, action }: PlannedCall): Promise<void> {
    switch (action.kind) {
      case 'events':
        return sendEvents(user, api, action)
      case 'list':
        return readList(user, api, action.query, action.hasNextPage)
      case 'hide':
        return untilTaken(user, api, {
          kind: 'hide',
          path: 'api/v1/me/not-interested',
          method: 'POST',
          body: { item_id: itemOf(action.item) },
        })
      case 'unhide':
        return untilTaken(user, api, { kind: 'hide', path: `api/v1/me/not-interested/${itemOf(action.item)}`, method: 'DELETE' })
      case 'similar':
        return void (await ask(user, api, { kind: 'similar', path: `api/v1/items/${itemOf(action.item)}/similar`, method: 'GET' }))
      case 'features':
        return void (await ask(user, api, { kind: 'features', path: `internal/features/user/${users[user].id}`, method: 'GET' }))
      case 'preferences': {
        const preferences = [{ category: 'genre', value: action.genre, weight: action.weight }]
        return untilTaken(user, api, { kind: 'preferences', path: 'api/v1/me/preferences', method: 'PUT', body: { preferences } })
      }
      case 'tier':
        return untilTaken(user, api, {
          kind: 'user',
          path: `internal/users/${users[user].id}`,
          method: 'PUT',
          body: { ...propertiesOf(user), sub_tier: action.tier },
        })
    }
  }

  const begun: Promise<void>[] = []
  for (const planned of plan.calls) {
    const leftMs = () => startedAt + planned.atMs - Date.now()
    for (let left = leftMs(); left > 0 && !isOver(); left = leftMs()) await delay(Math.min(left, LOOK_EVERY_MS))
    if (isOver()) break
    begun.push(perform(planned))
  }
  await Promise.all(begun)
  return calls
}

/**
 * Returns the country and age group of a user. They never change during a round. If they did, the groups for which an
 * event counts would depend on the order in which the pipeline reads two topics.
 */
export function propertiesOf(user: number): { readonly country: string | null; readonly age_bucket: string | null } {
  return { country: ['DE', 'FR', null][user % 3], age_bucket: ['18-24', '25-34'][user % 2] }
}
