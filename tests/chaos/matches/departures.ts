import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Actors } from './episodes.ts'
import { APIS, type Deed, type Departure } from './plan.ts'
import { type Asked, blockOf, type Client, isAccepted, leaveOf, type Request, returnOf, swipeOf } from './requests.ts'

/** How long a request is retried. This is longer than any fault lasts. */
const INSISTS_MS = 90_000
const AGAIN_AFTER_MS = 500
/** How long the partners read their lists, to see whether these still show the user who has left. */
const WATCHED_MS = 2_500
const LOOK_EVERY_MS = 300
const PLACE_ACCURACY_M = 20

export interface Place {
  readonly lat: number
  readonly lon: number
}

/**
 * Deletes a user's profile. Before and during the deletion, the user and the user's partners send requests. Some users
 * then create a new profile. Only the deletion and the creation must succeed.
 */
export async function depart(departure: Departure, { clients }: Pick<Actors, 'clients'>, { lat, lon }: Place): Promise<void> {
  const { user, partners, apis, pausesMs, returns } = departure
  const leaver = clients[user]
  let step = 0
  const api = () => apis[step++ % apis.length]
  const like = (who: Client, whom: Client) => who.ask(swipeOf(api(), whom.id, 'RIGHT'))
  const others = partners.map(({ other }) => clients[other])

  function before(deed: Deed, other: Client): Promise<unknown> {
    switch (deed) {
      case 'likes':
        return like(leaver, other)
      case 'liked':
        return like(other, leaver)
      case 'mutual':
        return Promise.all([like(leaver, other), like(other, leaver)])
      case 'blocks':
        return leaver.ask(blockOf(api(), other.id))
      case 'blocked':
        return other.ask(blockOf(api(), leaver.id))
    }
  }

  /**
   * Repeats a request with the same key until it succeeds. With different keys, a delayed first request could be
   * executed after its repetition and undo later changes.
   * @throws Error if the request still fails after 90 s
   */
  async function insist(requestOf: (api: number, key: string) => Request): Promise<Asked> {
    const until = Date.now() + INSISTS_MS
    const key = randomUUID()
    for (;;) {
      const asked = await leaver.ask(requestOf(api(), key))
      if (isAccepted(asked)) return asked
      if (Date.now() > until)
        throw new Error(`user ${leaver.id}: ${asked.kind} returned status ${asked.status} ${JSON.stringify(asked.body)}`)
      await delay(AGAIN_AFTER_MS)
    }
  }

  await Promise.all(partners.map(({ deed }, index) => before(deed, others[index])))
  await delay(pausesMs[0])
  // Two likes race with the deletion: one that the user sends, and one that the user gets.
  const beside = [like(leaver, others[1]), like(others[0], leaver)]
  await insist(leaveOf)
  const watched = Date.now() + WATCHED_MS
  for (let look = 0; Date.now() < watched && !returns; look++) {
    await Promise.all(others.map((other) => other.ask({ kind: look % 2 === 0 ? 'matches' : 'likes', api: look % APIS })))
    await delay(LOOK_EVERY_MS)
  }
  await Promise.all(beside)
  if (!returns) return
  await insist(returnOf)
  const body = { lat, lon, accuracy_m: PLACE_ACCURACY_M }
  await leaver.ask({ kind: 'location', api: api(), method: 'POST', body })
  await Promise.all(others.map((other) => like(leaver, other)))
  await delay(pausesMs[1])
  await Promise.all(others.slice(0, 3).map((other) => like(other, leaver)))
}
