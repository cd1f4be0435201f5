import { expect, test } from 'vitest'
import type { KeyedStore } from '../../../pipelines/engine/index.ts'
import { decisionDriver, testDriver } from '../../../pipelines/engine/testing.ts'
import { matchPairs } from '../../../pipelines/matches/pairs/topology.ts'
import { decideProfile } from '../../../pipelines/matches/profiles/decide.ts'
import { matchUsers } from '../../../pipelines/matches/users/topology.ts'
import { pairFlow } from '../../../schemas/matches/flow.ts'
import { matchIdOf, pairKey, swipeIdOf } from '../../../schemas/matches/pair.ts'
import { matchDeletions, matchEvents, matchProfiles, matchSwipes, pairSwipes, swipeEvents } from '../../../schemas/matches/topics.ts'
import type { MatchProfile, MatchUser, PairCommand, PairSwipe, SwipeEvent } from '../../../schemas/matches/types.ts'
import { integer, pick, seededRandom } from '../../../tools/random/random.ts'
import { ANN, BOB, CAT, pairSwipe, profileCommand, swipe } from '../../pipelines/matches/swipes.ts'
import { type DecidedPairCommand, foldPair, type PairDeletion } from './pair-fold.ts'
import { foldScores, foldSwipes } from './swipe-fold.ts'

const SEEDS = Array.from({ length: 40 }, (_, seed) => seed)
const EVENTS = 25
const USERS = [ANN, BOB, CAT]
const DIRECTIONS: readonly SwipeEvent['direction'][] = ['LEFT', 'RIGHT', 'SUPER_LIKE', 'REWIND', 'REWIND']
const SCORE_DIGITS = 6

/**
 * Returns swipes, some of which are not in the order of their times. Some are repeated with the same or a later time.
 */
function history(seed: number): SwipeEvent[] {
  const random = seededRandom(seed)
  const made: SwipeEvent[] = []
  for (let index = 0; index < EVENTS; index++) {
    const again = made.length > 0 && random() < 0.25 ? pick(random, made) : undefined
    const [swiper, target] = random() < 0.6 ? [ANN, BOB] : [pick(random, USERS), CAT]
    if (again !== undefined) made.push({ ...again, ts: again.ts + integer(random, 2) * integer(random, 500) })
    else if (swiper !== target)
      made.push(swipe(swiper, target, pick(random, DIRECTIONS), 1_000 + index * 10 + integer(random, 60), swipeIdOf(`${seed}`, `${index}`)))
  }
  return made
}

test.each(SEEDS)('seed %i: the pipeline and the offline computation agree on the effect of swipes', (seed) => {
  const driver = testDriver(matchUsers)
  for (const user of USERS) {
    const body = profileCommand('put', { display_name: 'X', birth_date: '1990-05-01' })
    const { state } = decideProfile(undefined, body, { key: user, now: driver.now, commandId: user })
    driver.pipe(matchProfiles, user, { view: state as MatchProfile, result: null })
  }
  const events = history(seed)
  for (const event of events) driver.pipe(swipeEvents, event.swiper_id, event)
  const fold = foldSwipes(events)
  expect(driver.read(matchSwipes).map(({ value }) => value)).toEqual(fold.counted)
  expect(driver.read(pairSwipes).map(({ value }) => value)).toEqual(fold.ofPairs)
  const score = (user: string) => driver.store<KeyedStore<string, MatchUser>>('users').get(user)?.elo_score
  // Each swipe changes the score of its target, based on the scores of both users after all earlier swipes.
  const scores = new Map(USERS.map((user) => [user, foldScores([])]))
  for (const { swiper_id, target_id, direction } of fold.scoring) {
    const swipes = [{ swiper_elo: scores.get(swiper_id)!.at(-1)!, direction }]
    const [, next] = foldScores(swipes, scores.get(target_id)!.at(-1)!)
    scores.set(target_id, [...scores.get(target_id)!, next])
  }
  for (const user of USERS) expect(score(user)).toBeCloseTo(scores.get(user)!.at(-1)!, SCORE_DIGITS)
})

test.each(SEEDS)('seed %i: swipes, commands and deletions of a pair lead to matches that the offline computation allows', (seed) => {
  const random = seededRandom(seed)
  const { ask, driver } = decisionDriver(matchPairs, pairFlow)
  const swipes: PairSwipe[] = []
  const commands: DecidedPairCommand[] = []
  const deletions: PairDeletion[] = []
  const matchId = matchIdOf(ANN, BOB)
  for (let index = 0; index < EVENTS; index++) {
    const [one, other] = random() < 0.5 ? [ANN, BOB] : [BOB, ANN]
    driver.advanceWallClock(10)
    if (deletions.length < 2 && random() < 0.08) {
      deletions.push({ side: one === ANN ? 'a' : 'b', deletedAt: driver.now })
      driver.pipe(matchDeletions, one, { user_id: one, deleted_at: driver.now })
      // In half of the cases, the topology erases the user's data before the next swipe or command.
      if (random() < 0.5) driver.advanceWallClock(3_000)
    } else if (random() < 0.7) {
      const made = pairSwipe(one, other, pick(random, DIRECTIONS), driver.now - integer(random, 15))
      swipes.push(made)
      driver.pipe(pairSwipes, pairKey(ANN, BOB), made)
    } else {
      const action = pick(random, ['block', 'unblock', 'unmatch', 'notify'] as const)
      const command: PairCommand = { action, actor_id: one, other_id: other, match_id: matchId, matched_at: null, not_before: 0 }
      const decidedAt = driver.now
      commands.push({ command, decidedAt, outcome: ask(pairKey(ANN, BOB), command).outcome })
    }
  }
  const events = driver.read(matchEvents)
  const ends = foldPair(swipes, commands, deletions)
  expect(ends.map(({ matches }) => matches.join())).toContain(events.map(({ value }) => value?.matched_at).join())
  expect(events.length).toBeLessThanOrEqual(1 + deletions.length)
})

test('a pair without commands has only one possible final state', () => {
  const like = pairSwipe(ANN, BOB, 'RIGHT', 1_000)
  expect(foldPair([like, pairSwipe(BOB, ANN, 'LEFT', 2_000)], [])).toMatchObject([{ matchedAt: undefined }])
  expect(foldPair([like, pairSwipe(BOB, ANN, 'RIGHT', 2_000)], [])).toMatchObject([{ matchedAt: 2_000, hasEnded: false }])
})

test('a block soon after a like may be processed before or after the match, and the answer does not show which', () => {
  const swipes = [pairSwipe(ANN, BOB, 'RIGHT', 1_000), pairSwipe(BOB, ANN, 'RIGHT', 2_000)]
  const command: PairCommand = { action: 'block', actor_id: ANN, other_id: BOB, match_id: null, matched_at: null, not_before: 0 }
  const ends = foldPair(swipes, [{ command, decidedAt: 2_500, outcome: 'done' }])
  expect(new Set(ends.map(({ matchedAt, hasEnded }) => `${matchedAt} ${hasEnded}`))).toEqual(new Set(['undefined false', '2000 true']))
})

test('the answer to a request to end a match shows whether the match existed at that time', () => {
  const swipes = [pairSwipe(ANN, BOB, 'RIGHT', 1_000), pairSwipe(BOB, ANN, 'RIGHT', 2_000)]
  const command: PairCommand = {
    action: 'unmatch',
    actor_id: ANN,
    other_id: BOB,
    match_id: matchIdOf(ANN, BOB),
    matched_at: null,
    not_before: 0,
  }
  expect(foldPair(swipes, [{ command, decidedAt: 2_500, outcome: 'done' }])).toMatchObject([{ matchedAt: 2_000, hasEnded: true }])
  expect(foldPair(swipes, [{ command, decidedAt: 2_500, outcome: 'not_found' }])).toMatchObject([{ matchedAt: 2_000, hasEnded: false }])
})
