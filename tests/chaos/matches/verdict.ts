import { conversationIdOf, matchIdOf, pairKey } from '../../../schemas/matches/pair.ts'
import type { PairSwipe, SwipeEvent } from '../../../schemas/matches/types.ts'
import { countsOf, differences } from '../judge.ts'
import { accepted } from './accepted.ts'
import { decidedCommands } from './decided-commands.ts'
import { certainFrom, deletionsOf, isErased } from './deletions.ts'
import type { Evidence, Lists } from './evidence.ts'
import { foldPair, isBlocked, type PairState } from './pair-fold.ts'
import { isAccepted } from './requests.ts'
import { shown } from './shown.ts'
import { foldScores, foldSwipes, isLike, type SwipeFold, swipeKey } from './swipe-fold.ts'

/** Tolerance for scores, so that a difference in rounding is not reported. */
const SCORE_TOLERANCE = 1e-6

/** Returns all differences between the outputs of a round and what its logs and responses require. */
export function faultsOf(evidence: Evidence): string[] {
  const certain = certainFrom(evidence)
  const fold = foldSwipes(evidence.logs.swipeEvents.map(({ value }) => value).filter((swipe) => !mayBeVoid(swipe, certain)))
  return [
    ...evidence.remains.map((key) => `Redis still contains ${key}, although the user has left`),
    ...accepted(evidence),
    ...swipes(evidence, fold),
    ...matches(evidence, fold),
    ...scores(evidence, fold),
    ...shown(evidence).faults,
  ]
}

/**
 * Returns whether a swipe may have no effect because its user has deleted their profile. Swipes and deletions are in
 * different topics, so the log does not show which of them the pipeline processed first.
 * @param deletions for each user who deleted their profile, the time from which their swipes certainly take effect
 */
function mayBeVoid(
  { swiper_id, ts }: { readonly swiper_id: string; readonly ts: number },
  deletions: ReadonlyMap<string, number>,
): boolean {
  return ts <= (deletions.get(swiper_id) ?? -Infinity)
}

/** Checks that the topics `match-swipes` and `pair-swipes` and the table of swipes follow from the log. */
function swipes(evidence: Evidence, fold: SwipeFold): string[] {
  const { logs, tables } = evidence
  const deletions = deletionsOf(evidence)
  const from = certainFrom(evidence)
  const found: string[] = []
  const text = ({ swipe_id, direction, ts }: { swipe_id: string; direction: string; ts: number }) => `${swipe_id} ${direction} ${ts}`
  const counted = logs.matchSwipes.map(({ value }) => value)
  const certain = counted.filter((swipe) => !mayBeVoid(swipe, from))
  found.push(...differences('match-swipes', fold.counted.map(text), certain.map(text)))
  // Swipes that a deletion may have made void may be missing, but no swipe may be invented or counted twice.
  const sent = new Set(logs.swipeEvents.map(({ value }) => text(value)))
  const ids = new Set(counted.map(({ swipe_id }) => swipe_id))
  if (ids.size < counted.length) found.push('match-swipes has a swipe twice')
  found.push(...counted.filter((swipe) => !sent.has(text(swipe))).map((swipe) => `match-swipes has ${text(swipe)}, which nobody sent`))
  const inTable = counted.filter(({ swiper_id, target_id, ts }) => !isErased([swiper_id, target_id], ts, deletions))
  found.push(...differences('the table of swipes', inTable.map(text).toSorted(), tables.swipes.map(text).toSorted()))
  // The two users of a pair may be in different partitions, so only the order of swipes by the same user is certain.
  const byUser = (list: readonly PairSwipe[]) => {
    const ofUsers = Map.groupBy(list, ({ swiper_id, target_id }) => `${swiper_id} ${target_id}`)
    return [...ofUsers].toSorted(([a], [b]) => (a < b ? -1 : 1)).flatMap(([who, each]) => each.map((swipe) => `${who} ${text(swipe)}`))
  }
  const ofPairs = logs.pairSwipes.map(({ value }) => value).filter((swipe) => !mayBeVoid(swipe, from))
  found.push(...differences('pair-swipes', byUser(fold.ofPairs), byUser(ofPairs)))
  return found
}

/**
 * Checks that matches, their table, pushes, webhook calls and lists follow from the pairs' swipes, commands and
 * deletions.
 */
function matches(evidence: Evidence, fold: SwipeFold): string[] {
  const { users, logs, tables, lists, delivered } = evidence
  const deletions = deletionsOf(evidence)
  const found: string[] = []
  const deliveredTo = Map.groupBy(delivered, ({ key }) => key)
  const swipesOf = Map.groupBy(
    logs.pairSwipes.map(({ value }) => value),
    ({ swiper_id, target_id }) => pairKey(swiper_id, target_id),
  )
  const commandsOf = Map.groupBy(decidedCommands(logs), ({ command }) => pairKey(command.actor_id, command.other_id))
  const eventsOf = Map.groupBy(logs.matchEvents, ({ value }) => pairKey(value.user_a, value.user_b))
  const pushesOf = Map.groupBy(logs.matchNotifications, ({ value }) => pairKey(value.user_id, value.other_id))
  const rowsOf = Map.groupBy(tables.matches, (row) => row.match_id)
  const back = new Set(evidence.asked.flatMap((one) => (one.kind === 'return' && isAccepted(one) ? [one.user] : [])))
  const gone = new Set([...deletions.keys()].filter((user) => !back.has(user)))
  for (const [index, one] of users.entries())
    for (const other of users.slice(index + 1)) {
      const key = pairKey(one, other)
      const [a, b] = key.split(':')
      const events = eventsOf.get(key) ?? []
      const ofPair = (['a', 'b'] as const).flatMap((side) => {
        const deletedAt = deletions.get(side === 'a' ? a : b)
        return deletedAt === undefined ? [] : [{ side, deletedAt }]
      })
      const ends = foldPair(
        swipesOf.get(key) ?? [],
        commandsOf.get(key) ?? [],
        ofPair.toSorted((x, y) => x.deletedAt - y.deletedAt),
      )
      const matchedAt = events.map(({ value }) => value.matched_at).join()
      const possible = ends.filter((state) => state.matches.join() === matchedAt)
      if (possible.length === 0) {
        found.push(`pair ${key}: match events at ${matchedAt}; possible ends: ${JSON.stringify(ends)}`)
        continue
      }
      const ids = { match_id: matchIdOf(a, b), conversation_id: conversationIdOf(a, b) }
      for (const { key: eventKey, value } of events) {
        const isRight = eventKey === ids.match_id && value.match_id === ids.match_id && value.conversation_id === ids.conversation_id
        if (!isRight) found.push(`pair ${key}: match event ${JSON.stringify(value)}; expected ${JSON.stringify({ ids, possible })}`)
      }
      const pushes = (pushesOf.get(key) ?? []).map(({ value }) => `${value.match_id}:${value.user_id}`).toSorted()
      const due = events.flatMap(() => [`${ids.match_id}:${a}`, `${ids.match_id}:${b}`])
      found.push(...differences(`pushes of ${key}`, due.toSorted(), pushes))
      // A push is dropped if its match ended before the push was sent.
      const isOver = possible.some(({ hasEnded, matchedAt }) => hasEnded || matchedAt === undefined)
      for (const push of new Set(due)) {
        const reached = deliveredTo.get(push) ?? []
        if (reached.length === 0 && !isOver) found.push(`push ${push} has not reached the webhook`)
        if (reached.some(({ isGenuine }) => !isGenuine)) found.push(`push ${push} reached the webhook with a wrong signature`)
        deliveredTo.delete(push)
      }
      const rows = (rowsOf.get(ids.match_id) ?? []).map((row) => `${row.conversation_id} ${row.matched_at}`)
      // If a user returned and matched again, the match has the same id, and the table keeps its newest row.
      const expectedRows = events
        .filter(({ value }) => !isErased([a, b], value.matched_at, deletions))
        .slice(-1)
        .map(({ value }) => `${value.conversation_id} ${value.matched_at}`)
      found.push(...differences(`the table of matches, ${key}`, expectedRows, rows))
      const wrong = possible.map((state) => [
        ...(gone.has(a) ? [] : wrongLists(a, b, state.a.blocks, state, { lists, isGone: gone.has(b) }, fold)),
        ...(gone.has(b) ? [] : wrongLists(b, a, state.b.blocks, state, { lists, isGone: gone.has(a) }, fold)),
      ])
      if (wrong.every((each) => each.length > 0)) found.push(...wrong[0].map((text) => `${text}; pair ${JSON.stringify(possible)}`))
    }
  found.push(...[...deliveredTo.keys()].map((push) => `push ${push} reached the webhook without a match`))
  return found
}

function wrongLists(
  user: string,
  other: string,
  blocks: boolean,
  state: PairState,
  { lists, isGone }: { readonly lists: ReadonlyMap<string, Lists>; readonly isGone: boolean },
  { newest }: SwipeFold,
): string[] {
  const seen = lists.get(user)
  if (seen === undefined) return [`the lists of ${user} are missing`]
  const direction = newest.get(swipeKey(user, other))?.direction
  const hasSwiped = direction !== undefined && direction !== 'REWIND'
  const liking = other < user ? state.a.newest : state.b.newest
  const isFree = state.matchedAt === undefined && !isBlocked(state) && !hasSwiped
  const expected = {
    matches: !isGone && state.matchedAt !== undefined && !state.hasEnded,
    likes: !isGone && isFree && isLike(liking?.direction ?? null),
    blocks,
    feed: !isGone && isFree,
  }
  const is = {
    matches: seen.matches.filter(({ user_id }) => user_id === other).length,
    likes: count(seen.likes, other),
    blocks: count(seen.blocks, other),
    feed: count(seen.feed, other),
  }
  const wrong = (Object.keys(expected) as (keyof typeof expected)[]).filter((list) => Number(expected[list]) !== is[list])
  const match = seen.matches.find(({ user_id }) => user_id === other)
  const hasWrongIds =
    match !== undefined && (match.match_id !== matchIdOf(user, other) || match.conversation_id !== conversationIdOf(user, other))
  return [
    ...wrong.map((list) => `${list} of ${user} has ${other} ${is[list]} times instead of ${Number(expected[list])}`),
    ...(hasWrongIds ? [`${user} has a match with ${other} with wrong ids: ${JSON.stringify(match)}`] : []),
  ]
}

function count(list: readonly string[], id: string): number {
  return list.filter((each) => each === id).length
}

/**
 * Checks that the topic `scored` follows from the log, and that the users' scores follow from `scored`. The scores of
 * users who left are not checked, because the log does not show when these scores were reset.
 */
function scores(evidence: Evidence, fold: SwipeFold): string[] {
  const { users, logs } = evidence
  const deletions = deletionsOf(evidence)
  const found: string[] = []
  const text = ({ direction, ts }: { direction: string; ts: number }) => `${direction} ${ts}`
  const scoredOf = Map.groupBy(logs.scored, ({ key }) => key)
  const unsure = logs.swipeEvents.map(({ value }) => value).filter((swipe) => mayBeVoid(swipe, certainFrom(evidence)))
  // A swipe scores only if its direction differs from that of the last scoring swipe of the same user on the same
  // target. If it is uncertain whether the earlier swipe took effect, it is also uncertain whether the later one
  // scores.
  const unsurePairs = new Set(unsure.map(({ swiper_id, target_id }) => swipeKey(swiper_id, target_id)))
  const follows = ({ swiper_id, target_id }: SwipeEvent) => unsurePairs.has(swipeKey(swiper_id, target_id))
  const scoringOf = Map.groupBy(
    fold.scoring.filter((swipe) => !follows(swipe)),
    ({ target_id }) => target_id,
  )
  const mayScore = [...unsure, ...fold.scoring.filter(follows)]
  const scoresOf = new Map(users.map((user) => [user, foldScores((scoredOf.get(user) ?? []).map(({ value }) => value))]))
  const selves = new Map(logs.matchSeen.flat().flatMap(({ key, value }) => (value?.self ? [[key.split(':')[0], value.self]] : [])))
  for (const user of users) {
    const scoring = scoringOf.get(user) ?? []
    const uncertain = mayScore.filter(({ target_id }) => target_id === user)
    const scored = (scoredOf.get(user) ?? []).map(({ value }) => value)
    const certain = withoutSurplus(scored, scoring, uncertain, text)
    // The order of swipes by users in different partitions is unknown, so both lists are sorted.
    found.push(...differences(`scored of ${user}`, scoring.map(text).toSorted(), certain.map(text).toSorted()))
    for (const value of certain) {
      const swipers = [...scoring, ...uncertain].filter((swipe) => text(swipe) === text(value)).map(({ swiper_id }) => swiper_id)
      const hadScore = (swiper: string) => deletions.has(swiper) || scoresOf.get(swiper)?.some((score) => isClose(score, value.swiper_elo))
      if (!swipers.some(hadScore)) found.push(`scored of ${user}: ${swipers.join()} never had the score ${value.swiper_elo}`)
    }
    const score = scoresOf.get(user)!.at(-1)!
    const shownScore = selves.get(user)?.elo_score ?? Number.NaN
    if (!deletions.has(user) && !isClose(score, shownScore)) found.push(`the score of ${user} is ${shownScore} instead of ${score}`)
  }
  return found
}

/**
 * Leaves out the scores that uncertain swipes may have caused. A score does not name its swiper, so a certain and an
 * uncertain swipe in the same millisecond are indistinguishable.
 */
function withoutSurplus<S, E>(scored: readonly S[], certain: readonly E[], uncertain: readonly E[], text: (one: S | E) => string): S[] {
  const missing = countsOf(certain.map(text))
  const spare = countsOf(uncertain.map(text))
  const take = (counts: Map<string, number>, of: string) => {
    const left = counts.get(of) ?? 0
    if (left > 0) counts.set(of, left - 1)
    return left > 0
  }
  return scored.filter((one) => take(missing, text(one)) || !take(spare, text(one)))
}

function isClose(one: number, other: number): boolean {
  return Math.abs(one - other) <= SCORE_TOLERANCE
}
