import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { matchIdOf } from '../../../schemas/matches/pair.ts'
import { APIS, type Episode, type EpisodeKind } from './plan.ts'
import { type Asked, blockOf, type Client, isAccepted, type RequestKind, rewindOf, swipeOf, unblockOf, unmatchOf } from './requests.ts'

/** How long two users search for each other after a block or after the end of their match. */
const WATCHED_MS = 2_500
const LOOK_EVERY_MS = 150
/**
 * One in this many reads is of the feed, and the others are of the other lists. Feeds are read less often, because a
 * user may request only 60 per minute.
 */
const LOOKS_PER_FEED = 5
/** Maximum number of attempts for a request that fails because of a fault. */
const ATTEMPTS = 4
const AGAIN_AFTER_MS = 500
const MATCHED_WITHIN_MS = 6_000

export interface Actors {
  readonly clients: readonly Client[]
  /** A client that may report matches, as an external detector does. */
  readonly detector: Client
}

/**
 * The rare kinds of requests, each with a kind of episode that sends it. An episode `unmatched` sends its request only
 * once two users match, which they can do after the recovery, unless one of them has blocked the other.
 */
const SENT_BY: Partial<Record<RequestKind, EpisodeKind>> = {
  rewind: 'rewound',
  block: 'blocked',
  unblock: 'feud',
  notify: 'reported',
  unmatch: 'unmatched',
}

/**
 * Returns an episode for each rare kind of request that was sent and never accepted. On a slow machine, all requests of
 * a rare kind may coincide with faults. After the recovery, such an episode shows whether the service accepts them.
 */
export function onlyRefused(episodes: readonly Episode[], asked: readonly Asked[]): Episode[] {
  const isOnlyRefused = (kind: string) =>
    asked.some((one) => one.kind === kind) && !asked.some((one) => one.kind === kind && isAccepted(one))
  return Object.entries(SENT_BY).flatMap(([kind, sender]) => {
    const senders = episodes.filter((each) => each.kind === sender)
    // In a long episode, the users may already have blocked each other.
    const episode = senders.find(({ isLong }) => !isLong) ?? senders[0]
    return episode !== undefined && isOnlyRefused(kind) ? [episode] : []
  })
}

/**
 * Sends the requests of two users in an episode. Requests may fail; the verdict later checks what must follow from the
 * accepted ones.
 */
export async function perform(episode: Episode, { clients, detector }: Actors): Promise<void> {
  const { kind, apis, directions, pausesMs, isLong } = episode
  const [one, other] = [clients[episode.one], clients[episode.other]]
  let step = 0

  const api = () => apis[step++ % apis.length]
  const pause = () => delay(pausesMs[step++ % pausesMs.length])
  const swipe = (who: Client, at: Client, direction = directions[step % directions.length], key?: string) =>
    who.ask(swipeOf(api(), at.id, direction, key))

  async function insist(request: () => ReturnType<Client['ask']>): Promise<boolean> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const asked = await request()
      if (isAccepted(asked)) return true
      if (asked.status >= 400 && asked.status < 500) return false
      await delay(AGAIN_AFTER_MS)
    }
    return false
  }

  /** Makes both users read all lists in which they might see each other, through all APIs. */
  async function watch(): Promise<void> {
    const until = Date.now() + WATCHED_MS
    for (let look = 0; Date.now() < until; look++) {
      const kinds = look % LOOKS_PER_FEED === 0 ? (['feed'] as const) : (['matches', 'likes'] as const)
      await Promise.all([one, other].flatMap((who, index) => kinds.map((list) => who.ask({ kind: list, api: (look + index) % APIS }))))
      await delay(LOOK_EVERY_MS)
    }
  }

  async function match(): Promise<boolean> {
    await Promise.all([swipe(one, other, 'RIGHT'), swipe(other, one, 'SUPER_LIKE')])
    const until = Date.now() + MATCHED_WITHIN_MS
    while (Date.now() < until) {
      const { status, body } = await one.ask({ kind: 'matches', api: api() })
      if (status === 200 && body.matches.some(({ user_id }: { user_id: string }) => user_id === other.id)) return true
      await delay(AGAIN_AFTER_MS)
    }
    return false
  }

  switch (kind) {
    case 'mutual':
      await Promise.all([swipe(one, other), swipe(other, one)])
      return
    case 'single':
      await swipe(one, other)
      return
    case 'repeated': {
      const key = randomUUID()
      const direction = directions[0]
      await Promise.all(Array.from({ length: APIS }, (_, index) => one.ask(swipeOf(index, other.id, direction, key))))
      await pause()
      if (isLong) await swipe(other, one)
      await one.ask(swipeOf(api(), other.id, direction, key))
      return
    }
    case 'rewound': {
      const key = randomUUID()
      const direction = directions[0]
      const first = one.ask(swipeOf(api(), other.id, direction, key))
      const beside = isLong ? swipe(other, one) : undefined
      await first
      await insist(() => one.ask(rewindOf(api())))
      await beside
      await pause()
      // Repeats the swipe that the rewind took back, like a client that did not receive the response to its swipe.
      if (isLong) await one.ask(swipeOf(api(), other.id, direction, key))
      else if (pausesMs[0] % 2 === 0) await swipe(one, other)
      return
    }
    case 'changed':
      await Promise.all([swipe(one, other, 'RIGHT'), swipe(one, other, 'LEFT')])
      await pause()
      await swipe(other, one)
      await pause()
      if (isLong) await swipe(one, other)
      return
    case 'blocked': {
      if (isLong) await swipe(other, one)
      const beside = swipe(one, other)
      const isBlocked = await insist(() => one.ask(blockOf(api(), other.id)))
      await beside
      if (isBlocked) await watch()
      if (!isLong) return
      await insist(() => one.ask(unblockOf(api(), other.id)))
      await Promise.all([swipe(one, other), swipe(other, one)])
      return
    }
    case 'feud': {
      if (isLong) await match()
      await Promise.all([insist(() => one.ask(blockOf(api(), other.id))), insist(() => other.ask(blockOf(api(), one.id)))])
      await insist(() => one.ask(unblockOf(api(), other.id)))
      await watch()
      return
    }
    case 'undecided': {
      if (isLong) await match()
      await Promise.all([insist(() => one.ask(blockOf(api(), other.id))), insist(() => one.ask(unblockOf(api(), other.id)))])
      return
    }
    case 'unmatched': {
      if (!(await match())) return
      if (await insist(() => one.ask(unmatchOf(api(), other.id, matchIdOf(one.id, other.id))))) await watch()
      await swipe(other, one, 'RIGHT')
      if (!isLong) return
      // Lifting a block does not restore the match.
      await insist(() => one.ask(blockOf(api(), other.id)))
      await insist(() => one.ask(unblockOf(api(), other.id)))
      await watch()
      return
    }
    case 'reported': {
      await match()
      const body = { match_id: matchIdOf(one.id, other.id), user_a: one.id, user_b: other.id, matched_at: new Date().toISOString() }
      for (let turn = 0; turn < 2; turn++) await detector.ask({ kind: 'notify', api: api(), method: 'POST', path: 'match/notify', body })
    }
  }
}
