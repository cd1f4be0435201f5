import { expect, test } from 'vitest'
import type { Command } from '../../../schemas/commands/topics.ts'
import { conversationIdOf, matchIdOf, pairKey } from '../../../schemas/matches/pair.ts'
import type { PairCommand, SwipeEvent } from '../../../schemas/matches/types.ts'
import { ANN, BOB, CAT, swipe } from '../../pipelines/matches/swipes.ts'
import type { Logged } from '../log-reader.ts'
import { accepted, excusedByAbsence } from './accepted.ts'
import { onlyRefused } from './episodes.ts'
import type { Evidence, Lists, Logs } from './evidence.ts'
import { drawPlan } from './plan.ts'
import type { Asked, RequestKind } from './requests.ts'
import { shown } from './shown.ts'
import { foldScores } from './swipe-fold.ts'
import { faultsOf } from './verdict.ts'

const MATCH = { match_id: matchIdOf(ANN, BOB), conversation_id: conversationIdOf(ANN, BOB) }
const NOBODY: Lists = { matches: [], likes: [], blocks: [], feed: [] }
let offset = 0

function logged<V>(key: string, value: V): Logged<V> {
  return { key, value, offset: offset++, timestamp: 0 }
}

function asked(kind: RequestKind, user: string, at: number, given: Partial<Asked> = {}): Asked {
  const body = kind === 'swipe' ? { swipe_id: given.key, match: null } : undefined
  return { kind, user, other: undefined, direction: undefined, key: undefined, api: 0, from: at, to: at + 5, status: 200, body, ...given }
}

function swipeAsked({ swipe_id, swiper_id, target_id, direction, ts }: SwipeEvent): Asked {
  return asked('swipe', swiper_id, ts - 1, { other: target_id, direction: direction as Asked['direction'], key: swipe_id })
}

const feed = (user: string, at: number, ...ids: string[]) =>
  asked('feed', user, at, { body: { candidates: ids.map((user_id) => ({ user_id })) } })

/** Returns evidence without faults: Ann and Bob match, Ann likes Cat, and Cat blocks Bob. */
function goodEvidence(): Evidence {
  const [first, second, third] = [swipe(ANN, BOB, 'RIGHT', 1_000), swipe(BOB, ANN, 'SUPER_LIKE', 2_000), swipe(ANN, CAT, 'RIGHT', 3_000)]
  const events = [first, second, third]
  const ofPairs = events.map(({ duration_ms, position, ...rest }) => logged(pairKey(rest.swiper_id, rest.target_id), rest))
  const block: PairCommand = { action: 'block', actor_id: CAT, other_id: BOB, match_id: null, matched_at: null, not_before: 0 }
  const command: Command<PairCommand> = { command_id: 'c', reply_to: '', request_hash: '', deadline: 0, body: block }
  const result = {
    command_id: 'c',
    reply_to: '',
    request_hash: '',
    outcome: 'decided',
    decided_at: 4_002,
    answer: '{"outcome":"done"}',
  } as const
  const scored = [
    logged(BOB, { swiper_elo: 1_500, direction: 'RIGHT' as const, ts: 1_000 }),
    logged(ANN, { swiper_elo: 1_516, direction: 'SUPER_LIKE' as const, ts: 2_000 }),
    logged(CAT, { swiper_elo: 1_500, direction: 'RIGHT' as const, ts: 3_000 }),
  ]
  const self = (user: string) => ({
    elo_score: foldScores(scored.filter(({ key }) => key === user).map(({ value }) => value)).at(-1)!,
    lat: 0,
    lon: 0,
    location_updated_at: 0,
    last_active_at: 0,
    exceptions: [],
    last_swipe: null,
  })
  const included = events.map(({ target_id, swipe_id, ts, swiper_id }) =>
    logged(`${swiper_id}:self`, { page: null, swipes: [{ target_id, swipe_id, ts }], self: self(swiper_id) }),
  )
  const seen = [...included, ...[ANN, BOB, CAT].map((user) => logged(`${user}:self`, { page: null, swipes: [], self: self(user) }))]
  const match = { ...MATCH, matched_at: 2_000 }
  const logs: Logs = {
    swipeEvents: events.map((event) => logged(event.swiper_id, event)),
    matchSwipes: events.map((event) => logged(event.swiper_id, event)),
    pairSwipes: ofPairs,
    pairCommands: [logged(pairKey(BOB, CAT), command)],
    pairDecisions: [logged('result', { view: null, result })],
    matchEvents: [logged(MATCH.match_id, { ...match, user_a: ANN, user_b: BOB })],
    matchNotifications: [logged(ANN, { ...match, user_id: ANN, other_id: BOB }), logged(BOB, { ...match, user_id: BOB, other_id: ANN })],
    matchDeletions: [],
    matchSeen: [seen],
    scored,
  }
  return {
    users: [ANN, BOB, CAT],
    asked: [...events.map(swipeAsked), asked('block', CAT, 4_000, { other: BOB, status: 204 }), feed(ANN, 1_500, CAT), feed(BOB, 5_000)],
    inflicted: { redis: [], apisKilled: 0, apiStarts: [] },
    logs,
    tables: { swipes: events, matches: [match] },
    delivered: [ANN, BOB, ANN].map((user) => ({ key: `${MATCH.match_id}:${user}`, isGenuine: true })),
    lists: new Map([
      [ANN, { ...NOBODY, matches: [{ ...MATCH, user_id: BOB }] }],
      [BOB, { ...NOBODY, matches: [{ ...MATCH, user_id: ANN }] }],
      [CAT, { ...NOBODY, likes: [ANN], blocks: [BOB], feed: [ANN] }],
    ]),
    view: [{ at: 6_000, partition: 0, next: Infinity }],
    remains: [],
  }
}

const withLog = (evidence: Evidence, log: Partial<Logs>): Evidence => ({ ...evidence, logs: { ...evidence.logs, ...log } })
const withAsked = (evidence: Evidence, ...more: Asked[]): Evidence => ({ ...evidence, asked: [...evidence.asked, ...more] })

test('a correct round has no faults', () => {
  expect(faultsOf(goodEvidence())).toEqual([])
})

const OUTPUTS = ['matchSwipes', 'pairSwipes', 'matchEvents', 'matchNotifications', 'scored'] as const

test.each(OUTPUTS)('a lost or repeated record of %s is reported', (name) => {
  const evidence = goodEvidence()
  const log = evidence.logs[name] as readonly Logged<unknown>[]
  for (let at = 0; at < log.length; at++) {
    expect(faultsOf(withLog(evidence, { [name]: log.toSpliced(at, 1) }))).not.toEqual([])
    expect(faultsOf(withLog(evidence, { [name]: log.toSpliced(at, 0, log[at]) }))).not.toEqual([])
  }
})

test.each(['swipes', 'matches'] as const)('a lost or repeated row of the table of %s is reported', (name) => {
  const evidence = goodEvidence()
  const rows: readonly object[] = evidence.tables[name]
  for (const changed of [rows.slice(1), [...rows, rows[0]]])
    expect(faultsOf({ ...evidence, tables: { ...evidence.tables, [name]: changed } })).not.toEqual([])
})

test('a push that did not reach the webhook, a push without a match, and a push that is not genuine are reported', () => {
  const evidence = goodEvidence()
  const [first, second] = evidence.delivered
  const stray = { key: `${matchIdOf(ANN, CAT)}:${ANN}`, isGenuine: true }
  for (const delivered of [[first], [first, second, stray], [first, { ...second, isGenuine: false }]])
    expect(faultsOf({ ...evidence, delivered })).toHaveLength(1)
})

test('an accepted swipe that is not in the log is reported', () => {
  const lost = swipe(CAT, ANN, 'LEFT', 5_000)
  for (const status of [200, 202]) {
    const body = { swipe_id: lost.swipe_id, match: null, queued: true }
    expect(faultsOf(withAsked(goodEvidence(), { ...swipeAsked(lost), status, body }))).not.toEqual([])
  }
})

test('20 requests of one kind that were all refused are reported, even if an outage could explain each refusal, but five are not', () => {
  const refused = Array.from({ length: 20 }, (_, index) => asked('rewind', ANN, 6_000 + index, { status: 503 }))
  expect(faultsOf(withAsked(goodEvidence(), ...refused))).toEqual(['none of 20 requests of the kind rewind succeeded'])
  expect(faultsOf(withAsked(goodEvidence(), ...refused.slice(0, 5)))).toEqual([])
})

test('an episode is repeated only if all requests of a kind were refused', () => {
  const { episodes } = drawPlan(1, { users: 10, leavers: 2, faults: [] })
  const refused = asked('notify', ANN, 6_000, { status: 503 })
  expect(onlyRefused(episodes, [refused]).map(({ kind }) => kind)).toEqual(['reported'])
  expect(onlyRefused(episodes, [refused, asked('notify', ANN, 6_001, { status: 202 })])).toEqual([])
  expect(onlyRefused(episodes, [])).toEqual([])
})

test('to repeat the end of a match, an episode is chosen in which neither user blocks the other', () => {
  const { episodes } = drawPlan(1, { users: 10, leavers: 2, faults: [] })
  const unmatched = episodes.filter(({ kind }) => kind === 'unmatched')
  expect(new Set(unmatched.map(({ isLong }) => isLong))).toEqual(new Set([true, false]))
  const refused = asked('unmatch', ANN, 6_000, { status: 503 })
  expect(onlyRefused(unmatched, [refused]).map(({ isLong }) => isLong)).toEqual([false])
  const long = unmatched.filter(({ isLong }) => isLong)
  expect(onlyRefused(long, [refused])).toEqual([long[0]])
})

test('a swipe that was sent once but is in the log twice is reported, unless an API was killed', () => {
  const evidence = goodEvidence()
  const { swipeEvents } = evidence.logs
  const twice = withLog(evidence, { swipeEvents: [...swipeEvents, swipeEvents[0]] })
  expect(faultsOf(twice)).not.toEqual([])
  expect(faultsOf({ ...twice, inflicted: { redis: [], apisKilled: 1, apiStarts: [] } })).toEqual([])
})

test('a missing or additional entry in any list of a user is reported', () => {
  const evidence = goodEvidence()
  for (const user of [ANN, BOB, CAT])
    for (const [list, entries] of Object.entries(evidence.lists.get(user)!) as [keyof Lists, readonly unknown[]][]) {
      const other = [ANN, BOB, CAT].find((each) => each !== user)
      const changed = entries.length > 0 ? [] : list === 'matches' ? [{ ...MATCH, user_id: other }] : [other]
      const lists = new Map(evidence.lists).set(user, { ...evidence.lists.get(user)!, [list]: changed })
      expect([user, list, faultsOf({ ...evidence, lists })]).not.toEqual([user, list, []])
    }
})

test('a score that does not follow from the swipes is reported', () => {
  const evidence = goodEvidence()
  const [seen] = evidence.logs.matchSeen
  const last = seen.at(-1)!
  const wrong = { ...last, value: { ...last.value, self: { ...last.value.self!, elo_score: 1_501 } } }
  expect(faultsOf(withLog(evidence, { matchSeen: [[...seen, wrong]] }))).not.toEqual([])
})

test('an answer that nothing in the round explains is reported', () => {
  for (const answer of [
    asked('feed', ANN, 5_000, { status: 500 }),
    asked('feed', ANN, 5_000, { status: 404 }),
    asked('swipe', ANN, 5_000, { status: 429 }),
    asked('unblock', ANN, 5_000, { other: CAT, status: 204 }),
  ])
    expect(faultsOf(withAsked(goodEvidence(), answer))).not.toEqual([])
  expect(faultsOf(withAsked(goodEvidence(), asked('swipe', BOB, 5_000, { other: CAT, status: 404 })))).toEqual([])
})

test('a profile that is shown again after a swipe is reported, unless Redis lost or missed the swipe before the view included it', () => {
  const again = withAsked(goodEvidence(), feed(ANN, 5_000, BOB))
  expect(faultsOf(again)).toHaveLength(1)
  expect(faultsOf({ ...again, inflicted: { redis: [{ from: 4_000, to: 4_001, isEmptied: true }], apisKilled: 0, apiStarts: [] } })).toEqual(
    [],
  )
  expect(shown({ ...again, inflicted: { redis: [{ from: 900, to: 1_100, isEmptied: false }], apisKilled: 0, apiStarts: [] } })).toEqual({
    faults: [],
    excused: 1,
  })
  // The API that accepted the swipe started after Redis was emptied.
  const emptied = [{ from: 500, to: 501, isEmptied: true }]
  expect(faultsOf({ ...again, inflicted: { redis: emptied, apisKilled: 1, apiStarts: [{ api: 0, at: 600 }] } })).toEqual([])
  expect(faultsOf({ ...again, inflicted: { redis: emptied, apisKilled: 1, apiStarts: [{ api: 1, at: 600 }] } })).toHaveLength(1)
  // Redis was emptied after the view included the swipe.
  const late = withAsked(goodEvidence(), feed(ANN, 7_000, BOB))
  expect(
    faultsOf({ ...late, inflicted: { redis: [{ from: 6_500, to: 6_501, isEmptied: true }], apisKilled: 0, apiStarts: [] } }),
  ).toHaveLength(1)
})

/** Returns the evidence of the correct round, followed by Bob deleting his profile. */
function withoutBob(): Evidence {
  const evidence = withAsked(goodEvidence(), asked('leave', BOB, 10_000, { status: 204 }))
  const { tables, lists } = evidence
  const bySwipes = new Map(evidence.logs.swipeEvents.map(({ value }) => [value.swipe_id, value]))
  return {
    ...withLog(evidence, { matchDeletions: [logged(BOB, { user_id: BOB, deleted_at: 10_002 })] }),
    tables: {
      swipes: tables.swipes.filter(({ swipe_id }) => ![bySwipes.get(swipe_id)?.swiper_id, bySwipes.get(swipe_id)?.target_id].includes(BOB)),
      matches: [],
    },
    lists: new Map([
      [ANN, { ...NOBODY }],
      [CAT, { ...lists.get(CAT)!, blocks: [BOB] }],
    ]),
  }
}

test('a trace of a deleted user in lists, tables or Redis is reported, but a block by another user is not', () => {
  const evidence = withoutBob()
  expect(faultsOf(evidence)).toEqual([])
  expect(faultsOf(withAsked(evidence, asked('feed', BOB, 11_000, { status: 404 })))).toEqual([])
  expect(faultsOf({ ...evidence, remains: [`{match-profiles:0}:self:${BOB}`] })).toHaveLength(1)
  expect(faultsOf({ ...evidence, tables: goodEvidence().tables })).not.toEqual([])
  for (const list of ['matches', 'likes', 'feed'] as const) {
    const entries = list === 'matches' ? [{ ...MATCH, user_id: BOB }] : [BOB]
    const lists = new Map(evidence.lists).set(ANN, { ...NOBODY, [list]: entries })
    expect([list, faultsOf({ ...evidence, lists }).length]).toEqual([list, 1])
  }
})

test('swipes of a user who left may be missing from match-swipes, but not invented or repeated, and swipes of other users must be in it', () => {
  const evidence = withoutBob()
  const { matchSwipes } = evidence.logs
  const of = (user: string) => matchSwipes.findIndex(({ value }) => value.swiper_id === user)
  expect(faultsOf(withLog(evidence, { matchSwipes: matchSwipes.toSpliced(of(BOB), 1) }))).toEqual([])
  expect(faultsOf(withLog(evidence, { matchSwipes: matchSwipes.toSpliced(of(ANN), 1) }))).not.toEqual([])
  expect(faultsOf(withLog(evidence, { matchSwipes: [...matchSwipes, matchSwipes[of(BOB)]] }))).not.toEqual([])
  const invented = { ...matchSwipes[of(BOB)], value: { ...matchSwipes[of(BOB)].value, swipe_id: 'invented' } }
  expect(faultsOf(withLog(evidence, { matchSwipes: [...matchSwipes, invented] }))).not.toEqual([])
})

test('showing a deleted user is reported, unless the user may have returned', () => {
  const look = (at: number) => asked('likes', CAT, at, { body: { likes: [{ user_id: ANN }] } })
  const evidence = withAsked(goodEvidence(), asked('leave', ANN, 20_000, { status: 204 }))
  expect(shown(withAsked(evidence, look(20_001))).faults).toEqual([])
  expect(shown(withAsked(evidence, look(20_010))).faults).toHaveLength(1)
  expect(shown(withAsked(evidence, asked('return', ANN, 20_008), look(20_010))).faults).toEqual([])
})

test('a block ends when the blocking user leaves, and an ended match separates its users until either of them leaves', () => {
  const look = (user: string, other: string, at: number) => asked('likes', user, at, { body: { likes: [{ user_id: other }] } })
  const away = (user: string) => [asked('leave', user, 5_000, { status: 204 }), asked('return', user, 6_000, { status: 201 })]
  const faultsAt = (evidence: Evidence, at: number) =>
    [look(CAT, BOB, at), look(BOB, CAT, at)].map((list) => shown(withAsked(evidence, list)).faults.length)
  expect(faultsAt(withAsked(goodEvidence(), ...away(CAT)), 4_900)).toEqual([1, 1])
  expect(faultsAt(withAsked(goodEvidence(), ...away(CAT)), 7_000)).toEqual([0, 0])
  expect(faultsAt(withAsked(goodEvidence(), ...away(BOB)), 7_000)).toEqual([1, 1])
  // A new block after the return counts.
  expect(faultsAt(withAsked(goodEvidence(), ...away(CAT), asked('block', CAT, 6_500, { other: BOB, status: 204 })), 7_000)).toEqual([1, 1])
  const ended = (user: string) => withAsked(goodEvidence(), asked('unmatch', ANN, 4_500, { other: CAT, status: 204 }), ...away(user))
  for (const user of [ANN, CAT]) {
    expect(shown(withAsked(ended(user), look(CAT, ANN, 4_900))).faults).toHaveLength(1)
    expect(shown(withAsked(ended(user), look(CAT, ANN, 7_000))).faults).toEqual([])
  }
  expect(shown(withAsked(ended(BOB), look(CAT, ANN, 7_000))).faults).toHaveLength(1)
})

test('if a user makes the same swipe while leaving and after returning, either or both of the swipes may score', () => {
  const evidence = goodEvidence()
  const [during, after] = [swipe(CAT, ANN, 'LEFT', 6_002), swipe(CAT, ANN, 'LEFT', 8_000)]
  const leave = asked('leave', CAT, 6_000, { status: 204 })
  const away = withAsked(evidence, leave, asked('return', CAT, 7_000, { status: 201 }), swipeAsked(during), swipeAsked(after))
  const events = [during, after].map((event) => logged(CAT, event))
  const deletion = logged(CAT, { user_id: CAT, deleted_at: 6_001 })
  const scoredBy = (...swipes: SwipeEvent[]) => {
    const scored = swipes.map(({ ts }) => logged(ANN, { swiper_elo: 1_500, direction: 'LEFT' as const, ts }))
    const { swipeEvents, scored: before } = evidence.logs
    const log = { swipeEvents: [...swipeEvents, ...events], matchDeletions: [deletion], scored: [...before, ...scored] }
    return faultsOf(withLog(away, log)).filter((fault) => fault.startsWith('scored of'))
  }
  for (const swipes of [[during], [after], [during, after]]) expect(scoredBy(...swipes)).toEqual([])
  expect(scoredBy(swipe(CAT, ANN, 'LEFT', 9_000))).not.toEqual([])
  expect(scoredBy(during, during)).not.toEqual([])
})

test('if a certain and an uncertain swipe have the same direction and time, one or two scores are accepted, but not three', () => {
  const evidence = goodEvidence()
  const { swipeEvents, scored } = evidence.logs
  const certain = swipeEvents.find(({ value }) => value.target_id === CAT && value.swiper_id === ANN)!.value
  const { ts } = certain
  const { direction } = scored.find(({ key, value }) => key === CAT && value.ts === ts)!.value
  const doubtful = swipe(BOB, CAT, direction, ts)
  const leave = asked('leave', BOB, ts - 2, { status: 204 })
  const away = withAsked(evidence, leave, asked('return', BOB, ts + 1_000, { status: 201 }), swipeAsked(doubtful))
  const log = { swipeEvents: [...swipeEvents, logged(BOB, doubtful)], matchDeletions: [logged(BOB, { user_id: BOB, deleted_at: ts - 1 })] }
  const again = logged(CAT, { swiper_elo: 1_500, direction, ts })
  const faults = (...more: (typeof again)[]) =>
    faultsOf(withLog(away, { ...log, scored: [...scored, ...more] })).filter((fault) => fault.startsWith(`scored of ${CAT}`))
  expect(faults()).toEqual([])
  expect(faults(again)).toEqual([])
  expect(faults(again, again)).not.toEqual([])
})

test('refusals are excused and counted while a user has no profile or no place, and shortly afterwards', () => {
  const leave = asked('leave', BOB, 10_000, { status: 204 })
  const back = asked('return', BOB, 11_000, { status: 201 })
  const place = asked('location', BOB, 12_000, { status: 204 })
  const verdictOn = (answer: Asked, ...more: Asked[]) => {
    const evidence = withAsked(goodEvidence(), leave, ...more, answer)
    return [accepted(evidence).length, excusedByAbsence(evidence)]
  }
  const unknown = (at: number) => asked('swipe', ANN, at, { other: BOB, status: 404 })
  const placeless = (at: number) => asked('feed', BOB, at, { status: 400 })
  expect(verdictOn(unknown(9_000))).toEqual([1, 0])
  expect(verdictOn(unknown(50_000))).toEqual([0, 1])
  expect(verdictOn(unknown(10_500), back)).toEqual([0, 1])
  expect(verdictOn(unknown(50_000), back)).toEqual([1, 0])
  expect(verdictOn(placeless(50_000), back)).toEqual([0, 1])
  expect(verdictOn(placeless(11_500), back, place)).toEqual([0, 1])
  expect(verdictOn(placeless(50_000), back, place)).toEqual([1, 0])
})

test('after a rewind, a profile may be shown again', () => {
  const evidence = withAsked(goodEvidence(), feed(ANN, 5_000, CAT))
  const rewind = swipe(ANN, CAT, 'REWIND', 4_500)
  expect(shown(evidence).faults).toHaveLength(1)
  const { swipeEvents } = evidence.logs
  expect(shown(withLog(evidence, { swipeEvents: [...swipeEvents, logged(ANN, rewind)] })).faults).toEqual([])
  // In the log, a repetition with a later time comes before the swipe and the rewind.
  const late = logged(ANN, { ...swipeEvents[2].value, ts: 9_000 })
  expect(shown(withLog(evidence, { swipeEvents: [late, ...swipeEvents, logged(ANN, rewind)] })).faults).toEqual([])
})

test.each(['feed', 'likes', 'matches'] as const)(
  'users who see each other in %s after the response to a block are reported, until the block may have been lifted',
  (kind) => {
    const list = { feed: 'candidates', likes: 'likes', matches: 'matches' }[kind]
    const look = (user: string, other: string, at: number) => asked(kind, user, at, { body: { [list]: [{ user_id: other }] } })
    expect(faultsOf(withAsked(goodEvidence(), look(CAT, BOB, 3_990)))).toEqual([])
    expect(faultsOf(withAsked(goodEvidence(), look(CAT, BOB, 4_010)))).toHaveLength(1)
    expect(faultsOf(withAsked(goodEvidence(), look(BOB, CAT, 4_010)))).toHaveLength(1)
    const lifted = asked('unblock', CAT, 4_005, { other: BOB, status: 503 })
    expect(faultsOf(withAsked(goodEvidence(), lifted, look(BOB, CAT, 4_010)))).toEqual([])
  },
)
