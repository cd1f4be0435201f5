import { neverAccepted } from '../never-accepted.ts'
import { decidedCommands } from './decided-commands.ts'
import { absencesOf } from './deletions.ts'
import type { Evidence } from './evidence.ts'
import { type Asked, isAccepted } from './requests.ts'

/**
 * Statuses with which a request may fail because of a fault, another user or the rules of the service. 0: the API was
 * killed or stopped.
 */
const REFUSALS: ReadonlySet<number> = new Set([0, 404, 409, 503])

/**
 * After the response to a new profile or a location report, refusals that a missing profile or place explains are
 * excused for this much longer. They should affect only requests that were already in flight, because Redis contains
 * the profile or the place before the API sends that response.
 */
const RETURN_LAG_MS = 2_000

/**
 * Checks that the log contains the accepted swipes, rewinds and commands, that no swipe is in it too often, that no
 * response is wrong, and that at least one request of each frequent kind succeeded.
 */
export function accepted(evidence: Evidence): string[] {
  const { asked } = evidence
  return [
    ...asked.flatMap((one) => (judged(one, evidence) === 'wrong' ? [described(one)] : [])),
    ...neverAccepted(asked.map((one) => ({ kind: one.kind, isAccepted: isAccepted(one) }))),
    ...swipesInLog(evidence),
    ...repetitions(evidence),
    ...commandsInLog(evidence),
  ]
}

/** Returns the number of refusals that are right only if a user had no profile or no place at the time. */
export function excusedByAbsence(evidence: Evidence): number {
  return evidence.asked.filter((one) => judged(one, evidence) === 'excused').length
}

/** Judges a response. `excused` means that it is right only if a user had no profile or no place at the time. */
function judged(one: Asked, evidence: Evidence): 'right' | 'excused' | 'wrong' {
  const { asked } = evidence
  if (isAccepted(one))
    return one.kind === 'swipe' && one.status === 202 && (one.body.match !== null || !one.body.queued) ? 'wrong' : 'right'
  // A feed request fails with 400 until the location of the user is known.
  if (one.kind === 'feed' && one.status === 400) return mayLackPlace(one, evidence) ? 'excused' : 'wrong'
  if (!REFUSALS.has(one.status)) return 'wrong'
  if (one.status !== 404 || one.kind === 'notify') return 'right'
  // The API answers 404 if a block hides the other user, or if the match has ended. A request to end a match that never
  // existed also gets 404. This check accepts that, because `asked` contains the request itself.
  const mayBeHidden = asked.some(
    ({ kind, user, other, from }) =>
      (kind === 'block' || kind === 'unmatch') &&
      from <= one.to &&
      ((user === one.user && other === one.other) || (user === one.other && other === one.user)),
  )
  if (mayBeHidden) return 'right'
  const mayBeAway = absencesOf(evidence).some(
    ({ user, from, backAt }) => (user === one.user || user === one.other) && from <= one.to && one.from <= backAt + RETURN_LAG_MS,
  )
  return mayBeAway ? 'excused' : 'wrong'
}

/** Returns whether the user may have had no place during the request, because they had deleted their profile. */
function mayLackPlace(one: Asked, evidence: Evidence): boolean {
  const absence = absencesOf(evidence).find(({ user }) => user === one.user)
  if (absence === undefined) return false
  const places = evidence.asked.filter(({ kind, user, from }) => kind === 'location' && user === one.user && from >= absence.to)
  const placedAt = Math.min(Infinity, ...places.filter(isAccepted).map(({ to }) => to))
  return absence.from <= one.to && one.from <= placedAt + RETURN_LAG_MS
}

function swipesInLog({ asked, logs }: Evidence): string[] {
  const events = new Map(logs.swipeEvents.map(({ value }) => [value.swipe_id, value]))
  const ids = new Map<string, string>()
  return asked.flatMap((one) => {
    if (!isAccepted(one) || (one.kind !== 'swipe' && one.kind !== 'rewind')) return []
    const { swipe_id } = one.body as { swipe_id: string }
    const event = events.get(swipe_id)
    const target = one.kind === 'swipe' ? one.other : one.body.target_user_id
    const direction = one.kind === 'swipe' ? one.direction : 'REWIND'
    const isInLog = event?.swiper_id === one.user && event.target_id === target && event.direction === direction
    const first = one.key === undefined ? swipe_id : (ids.get(one.key) ?? swipe_id)
    if (one.key !== undefined) ids.set(one.key, first)
    if (event === undefined) return [`${described(one)} is missing from the log`]
    if (!isInLog) return [`${described(one)} is in the log as ${JSON.stringify(event)}`]
    return first === swipe_id ? [] : [`${described(one)}, but an earlier request with this key got ${first}`]
  })
}

/**
 * Finds swipes that are in the log too often. A swipe may be repeated only if its request was repeated, or if an API
 * was killed before it stored Kafka's acknowledgement. Each kill may add another record for each of the requests.
 */
function repetitions({ asked, logs, inflicted }: Evidence): string[] {
  const requests = Map.groupBy(asked.filter(isAccepted), ({ body }) => body?.swipe_id as string | undefined)
  const keys = Map.groupBy(asked, ({ key }) => key)
  return [...Map.groupBy(logs.swipeEvents, ({ value }) => value.swipe_id)].flatMap(([id, records]) => {
    const answered = requests.get(id) ?? []
    const key = answered.find((one) => one.key !== undefined)?.key
    const most = (key === undefined ? 1 : keys.get(key)!.length) * (1 + inflicted.apisKilled)
    return records.length <= most ? [] : [`swipe ${id} is in the log ${records.length} times`]
  })
}

function commandsInLog({ asked, logs }: Evidence): string[] {
  const done = decidedCommands(logs).filter(({ outcome }) => outcome === 'done')
  return asked.flatMap((one) => {
    if (!isAccepted(one) || !['block', 'unblock', 'unmatch'].includes(one.kind)) return []
    const isDecided = done.some(
      ({ command: { action, actor_id, other_id }, decidedAt }) =>
        action === one.kind && actor_id === one.user && other_id === one.other && decidedAt <= one.to,
    )
    return isDecided ? [] : [`${described(one)} has not been decided`]
  })
}

function described({ kind, user, other, direction, status, body, api, from, to }: Asked): string {
  const who = [user, other, direction].filter((part) => part !== undefined).join(' ')
  return `${kind} of ${who} at API ${api}, ${from} to ${to}: ${status} ${JSON.stringify(body)}`
}
