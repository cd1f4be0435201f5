import { absencesOf } from './deletions.ts'
import type { Evidence } from './evidence.ts'
import { type Asked, isAccepted } from './requests.ts'

/**
 * After a request that was not accepted, this check assumes for this long that its command may still be executed. A
 * command lives for 30 s (`COMMAND_LIFE_MS` in api/kit/commands/commands.ts), and its decision may then be written
 * late.
 */
const MAY_FOLLOW_MS = 35_000

export interface Shown {
  readonly faults: readonly string[]
  /**
   * How often a swiped user was shown again while the note of the swipe may have been missing from Redis. The
   * documentation allows this.
   */
  readonly excused: number
}

/**
 * Checks whom users saw during the round. A feed must not show anyone whom its user has swiped, except after a rewind
 * or after the user has deleted their own profile. Two users must not see each other if one has blocked the other or
 * ended their match. Nobody may see a user who has left.
 *
 * Until the view includes a swipe, only a note in Redis hides its target. If Redis was down when the API responded to
 * the swipe, or was emptied later, the note may be missing, and showing the target is excused. Blocks and ends of
 * matches are in the log before the API responds, so a user who is shown despite them is never excused.
 */
export function shown(evidence: Evidence): Shown {
  const faults: string[] = []
  let excused = 0
  const swipesOf = Map.groupBy(
    evidence.asked.filter((one) => one.kind === 'swipe' && isAccepted(one)),
    ({ user, other }) => `${user} ${other}`,
  )
  const eventsOf = Map.groupBy(
    evidence.logs.swipeEvents.map(({ value }) => value),
    ({ swiper_id, target_id }) => `${swiper_id} ${target_id}`,
  )
  const separations = separationsOf(evidence)
  const absences = absencesOf(evidence)
  const included = inclusions(evidence)
  for (const list of evidence.asked) {
    for (const other of shownIn(list)) {
      const cause = separations.find(({ one, from, to, isOf }) => isOf(list.user, other) && from <= list.from && list.to < to && one)
      if (cause) faults.push(`${list.kind} at ${list.from} shows ${other} to ${list.user}, although: ${JSON.stringify(cause.one)}`)
      const gone = absences.find(({ user, to, back }) => user === other && to <= list.from && list.to < back)
      if (gone) faults.push(`${list.kind} at ${list.from} shows ${other}, who left at ${gone.to}, to ${list.user}`)
      if (list.kind !== 'feed') continue
      for (const swipe of swipesOf.get(`${list.user} ${other}`) ?? []) {
        if (swipe.to >= list.from || absences.some((one) => one.user === list.user && swipe.from <= one.to && one.from <= list.to)) continue
        const events = eventsOf.get(`${list.user} ${other}`) ?? []
        // A repeated request has the same id and a later time. It is not a new swipe, even after a rewind.
        const at = Math.min(...events.flatMap(({ swipe_id, ts }) => (swipe_id === swipe.body.swipe_id ? [ts] : [])))
        if (events.some(({ direction, ts }) => direction === 'REWIND' && ts >= at && ts <= list.to)) continue
        const isForgotten = (included.get(swipe.body.swipe_id) ?? Infinity) > list.from && mayBeForgotten(swipe, list, evidence)
        if (isForgotten) excused++
        else faults.push(`feed at ${list.from} at API ${list.api} shows ${other} to ${list.user}, who swiped: ${JSON.stringify(swipe)}`)
      }
    }
  }
  return { faults, excused }
}

function shownIn({ kind, status, body }: Asked): string[] {
  if (status !== 200) return []
  const people: readonly { user_id: string }[] =
    kind === 'feed' ? body.candidates : kind === 'likes' ? body.likes : kind === 'matches' ? body.matches : []
  return people.map(({ user_id }) => user_id)
}

interface Separation {
  readonly one: Asked
  readonly from: number
  readonly to: number
  isOf(user: string, other: string): boolean
}

/**
 * Returns the periods in which two users must not see each other. A block ends when it is lifted, or when the blocking
 * user deletes their profile. The end of a match keeps the users apart until one of them deletes their profile.
 */
function separationsOf(evidence: Evidence): Separation[] {
  const { asked } = evidence
  const absences = absencesOf(evidence)
  /** Returns the time at which the first of these users leaves after the request; Infinity if none does. */
  const leftAfter = (one: Asked, users: readonly (string | undefined)[]) =>
    Math.min(Infinity, ...absences.flatMap(({ user, from, to }) => (users.includes(user) && to >= one.from ? [from] : [])))
  const isBetween =
    ({ user, other }: Asked) =>
    (one: string, another: string) =>
      (one === user && another === other) || (one === other && another === user)
  const ended = asked.filter((one) => one.kind === 'unmatch' && isAccepted(one))
  const blocks = asked.filter((one) => one.kind === 'block' && isAccepted(one))
  const unblocks = asked.filter(({ kind }) => kind === 'unblock')
  return [
    ...ended.map((one) => ({ one, from: one.to, to: leftAfter(one, [one.user, one.other]), isOf: isBetween(one) })),
    ...blocks.map((one) => {
      const lifting = unblocks.filter(
        (lifted) =>
          lifted.user === one.user &&
          lifted.other === one.other &&
          (isAccepted(lifted) ? lifted.to : lifted.to + MAY_FOLLOW_MS) >= one.from,
      )
      return { one, from: one.to, to: Math.min(leftAfter(one, [one.user]), ...lifting.map(({ from }) => from)), isOf: isBetween(one) }
    }),
  ]
}

/** Returns the time at which the view included each swipe, by swipe id. */
function inclusions({ logs, view }: Evidence): Map<string, number> {
  const times = new Map<string, number>()
  for (const [partition, log] of logs.matchSeen.entries()) {
    for (const { offset, value } of log) {
      const at = view.find((sample) => sample.partition === partition && sample.next > offset)?.at ?? Infinity
      for (const { swipe_id } of value?.swipes ?? []) if (!times.has(swipe_id)) times.set(swipe_id, at)
    }
  }
  return times
}

/** How long an API takes to reconnect after Redis was down. */
const RECONNECT_MS = 2_000

/**
 * Returns whether the note of a swipe may be missing from Redis. Apart from faults of Redis itself, a note may be
 * missing because its API started while Kafka was down and Redis was empty. Such an API cannot read the view's
 * partition count from Redis, so it cannot store notes until Kafka is back.
 */
function mayBeForgotten(swipe: Asked, list: Asked, { inflicted }: Evidence): boolean {
  const starts = inflicted.apiStarts.filter(({ api, at }) => api === swipe.api && at <= swipe.to)
  return inflicted.redis.some(({ from, to, isEmptied }) =>
    isEmptied
      ? from <= list.to && (to >= swipe.from || starts.some(({ at }) => at >= from))
      : from <= swipe.to && to + RECONNECT_MS >= swipe.from,
  )
}
