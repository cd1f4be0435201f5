import { conversationIdOf, matchIdOf, pairKey } from '../../../schemas/matches/pair.ts'
import type { PairSwipe, SwipeEvent } from '../../../schemas/matches/types.ts'
import { differences } from '../judge.ts'
import { accepted } from './accepted.ts'
import { decidedCommands } from './decided-commands.ts'
import type { Evidence, Lists } from './evidence.ts'
import { foldPair, isBlocked, type PairState } from './pair-fold.ts'
import { shown } from './shown.ts'
import { foldScores, foldSwipes, isLike, type SwipeFold, swipeKey } from './swipe-fold.ts'

/** Both compute a score from the same numbers, but not in the same way. */
const SCORE_TOLERANCE = 1e-6

/** Returns everything in which the outputs of a round differ from what its logs and answers require. */
export function faultsOf(evidence: Evidence): string[] {
  const fold = foldSwipes(evidence.logs.swipeEvents.map(({ value }) => value))
  return [
    ...accepted(evidence),
    ...swipes(evidence, fold),
    ...matches(evidence, fold),
    ...scores(evidence, fold),
    ...shown(evidence).faults,
  ]
}

/** The pipeline's swipes, those of the pairs, and the table are what follows from the log. */
function swipes({ logs, tables }: Evidence, fold: SwipeFold): string[] {
  const found: string[] = []
  const text = ({ swipe_id, direction, ts }: { swipe_id: string; direction: string; ts: number }) => `${swipe_id} ${direction} ${ts}`
  const expected = fold.counted.map(text)
  found.push(
    ...differences(
      'match-swipes',
      expected,
      logs.matchSwipes.map(({ value }) => text(value)),
    ),
  )
  found.push(...differences('the table of swipes', expected.toSorted(), tables.swipes.map(text).toSorted()))
  const ofPairs = (list: readonly PairSwipe[]) => list.map((swipe) => `${swipe.swiper_id} ${swipe.target_id} ${text(swipe)}`)
  found.push(...differences('pair-swipes', ofPairs(fold.ofPairs), ofPairs(logs.pairSwipes.map(({ value }) => value))))
  return found
}

/** Matches, pushes, webhook and lists are those that follow from the pairs' swipes and commands. */
function matches({ users, logs, tables, lists, delivered }: Evidence, fold: SwipeFold): string[] {
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
  for (const [index, one] of users.entries())
    for (const other of users.slice(index + 1)) {
      const key = pairKey(one, other)
      const [a, b] = key.split(':')
      const events = eventsOf.get(key) ?? []
      const ends = foldPair(swipesOf.get(key) ?? [], commandsOf.get(key) ?? [])
      const possible = ends.filter((state) => (state.matchedAt !== undefined ? 1 : 0) === events.length)
      if (possible.length === 0) {
        found.push(`pair ${key}: ${events.length} match events; possible ends: ${JSON.stringify(ends)}`)
        continue
      }
      const ids = { match_id: matchIdOf(a, b), conversation_id: conversationIdOf(a, b) }
      for (const { key: eventKey, value } of events) {
        const isRight =
          eventKey === ids.match_id &&
          value.match_id === ids.match_id &&
          value.conversation_id === ids.conversation_id &&
          possible.some(({ matchedAt }) => matchedAt === value.matched_at)
        if (!isRight) found.push(`pair ${key}: match event ${JSON.stringify(value)}; expected ${JSON.stringify({ ids, possible })}`)
      }
      const pushes = (pushesOf.get(key) ?? []).map(({ value }) => `${value.match_id}:${value.user_id}`).toSorted()
      const due = events.length === 0 ? [] : [`${ids.match_id}:${a}`, `${ids.match_id}:${b}`]
      found.push(...differences(`pushes of ${key}`, due, pushes))
      // A push is dropped if its match has ended before it was sent.
      const isOver = possible.some(({ hasEnded }) => hasEnded)
      for (const push of due) {
        const reached = deliveredTo.get(push) ?? []
        if (reached.length === 0 && !isOver) found.push(`push ${push} has not reached the webhook`)
        if (reached.some(({ isGenuine }) => !isGenuine)) found.push(`push ${push} reached the webhook with a wrong signature`)
        deliveredTo.delete(push)
      }
      const rows = (rowsOf.get(ids.match_id) ?? []).map((row) => `${row.conversation_id} ${row.matched_at}`)
      const expectedRows = events.map(({ value }) => `${value.conversation_id} ${value.matched_at}`)
      found.push(...differences(`the table of matches, ${key}`, expectedRows, rows))
      const wrong = possible.map((state) => [
        ...wrongLists(a, b, state.a.blocks, state, lists, fold),
        ...wrongLists(b, a, state.b.blocks, state, lists, fold),
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
  lists: ReadonlyMap<string, Lists>,
  { newest }: SwipeFold,
): string[] {
  const seen = lists.get(user)
  if (seen === undefined) return [`the lists of ${user} are missing`]
  const direction = newest.get(swipeKey(user, other))?.direction
  const hasSwiped = direction !== undefined && direction !== 'REWIND'
  const liking = other < user ? state.a.newest : state.b.newest
  const isFree = state.matchedAt === undefined && !isBlocked(state) && !hasSwiped
  const expected = {
    matches: state.matchedAt !== undefined && !state.hasEnded,
    likes: isFree && isLike(liking?.direction ?? null),
    blocks,
    feed: isFree,
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

/** `scored` has what follows from the log, and the users' scores are the fold of `scored`. */
function scores({ users, logs }: Evidence, fold: SwipeFold): string[] {
  const found: string[] = []
  const scoredOf = Map.groupBy(logs.scored, ({ key }) => key)
  const scoringOf = Map.groupBy(fold.scoring, ({ target_id }) => target_id)
  const scoresOf = new Map(users.map((user) => [user, foldScores((scoredOf.get(user) ?? []).map(({ value }) => value))]))
  const selves = new Map(logs.matchSeen.flatMap(({ key, value }) => (value?.self ? [[key.split(':')[0], value.self]] : [])))
  for (const user of users) {
    const text = ({ direction, ts }: { direction: string; ts: number }) => `${direction} ${ts}`
    const scored = scoredOf.get(user) ?? []
    found.push(
      ...differences(
        `scored of ${user}`,
        (scoringOf.get(user) ?? []).map(text),
        scored.map(({ value }) => text(value)),
      ),
    )
    for (const [index, { value }] of scored.entries()) {
      const swiper = (scoringOf.get(user) as SwipeEvent[] | undefined)?.[index]?.swiper_id ?? ''
      const isRight = scoresOf.get(swiper)?.some((score) => isClose(score, value.swiper_elo))
      if (!isRight) found.push(`scored of ${user}: ${swiper} never had the score ${value.swiper_elo}`)
    }
    const score = scoresOf.get(user)!.at(-1)!
    const shownScore = selves.get(user)?.elo_score ?? Number.NaN
    if (!isClose(score, shownScore)) found.push(`the score of ${user} is ${shownScore} instead of ${score}`)
  }
  return found
}

function isClose(one: number, other: number): boolean {
  return Math.abs(one - other) <= SCORE_TOLERANCE
}
