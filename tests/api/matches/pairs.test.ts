import { expect, test } from 'vitest'
import { matchesErrors } from '../../../api/matches/errors.ts'
import { pairRoutes } from '../../../api/matches/pairs.ts'
import { blockRoute, likesRoute, matchesRoute, notifyRoute, unblockRoute, unmatchRoute } from '../../../api/matches/routes.ts'
import type { PairAnswer } from '../../../schemas/matches/flow.ts'
import { matchIdOf, pairKey } from '../../../schemas/matches/pair.ts'
import type { MatchProfile, PairCommand } from '../../../schemas/matches/types.ts'
import { parseRecent, severedField } from '../../../state/views/matches/recent.ts'
import { ANN, BOB } from '../../pipelines/matches/swipes.ts'
import { remembered } from '../kit/commands/remembered.ts'
import { matchesApi } from './harness.ts'

const NOW = Date.UTC(2026, 0, 1)

const profile: MatchProfile = {
  user_id: ANN,
  display_name: 'X',
  birth_date: '1990-05-01',
  gender: 'f',
  seeking_gender: ['m'],
  bio: null,
  min_age_pref: 18,
  max_age_pref: 99,
  max_dist_km: 50,
  is_active: true,
  photo_urls: [],
  created_at: NOW,
  updated_at: NOW,
  deleted_at: null,
}

/**
 * Opens the routes for Ann. The users in `likers` like her, each since `NOW - index`. If `matchedAt` is given, they
 * have a match with her instead, each since `matchedAt(NOW - index)`. The first user is thus the most recent one.
 * Commands are added to `sent`, and their result is `answer`.
 */
function routesOf(
  likers: readonly Partial<MatchProfile>[],
  { sent = [], matchedAt }: { readonly sent?: PairCommand[]; readonly matchedAt?: (at: number) => number } = {},
  answer: PairAnswer = { outcome: 'not_found' },
) {
  const ids = likers.map((_liker, index) => `0b000000-0000-4000-8000-${String(index).padStart(12, '0')}`)
  const likes = new Map(matchedAt === undefined ? ids.map((id, index) => [id, 2 * (NOW - index)]) : [])
  const matches = new Map(matchedAt === undefined ? [] : ids.map((id, index) => [id, matchedAt(NOW - index)]))
  const profiles = new Map(
    likers.map((liker, index) => [ids[index], { ...profile, gender: 'm', seeking_gender: [], ...liker, user_id: ids[index] }]),
  )
  const state = { now: NOW, likes, matches, profiles, recent: {} as Record<string, string>, reads: 0, severed: [] as unknown[] }
  const once = remembered()
  const deps = {
    people: {
      sever: async (...note: unknown[]) => void state.severed.push(note),
      stateOf: async () => ({ profile, self: undefined, recent: {} }),
      own: async () => ({ profile, self: undefined, recent: parseRecent(state.recent), seenPages: {}, stack: undefined }),
      async list(_userId: string, list: 'likes' | 'matches', start: number, stop: number) {
        const members = [...state[list]].map(([member, score]) => ({ member, score }))
        return members.sort((one, other) => other.score - one.score).slice(start, stop + 1)
      },
      async listed(wanted: readonly string[]) {
        state.reads += wanted.length
        return new Map(wanted.filter((id) => profiles.get(id)?.is_active).map((id) => [id, profiles.get(id)]))
      },
    },
    commands: {
      open: async ({ idempotencyKey }: { readonly idempotencyKey?: string }) => ({
        once: <T>(name: string, compute: () => T) => once(idempotencyKey, name, compute),
        async run(_flow: unknown, key: string, command: PairCommand) {
          expect(key).toBe(pairKey(command.actor_id, command.other_id))
          sent.push(command)
          return answer
        },
      }),
    },
    now: () => state.now,
  } as unknown as Parameters<typeof pairRoutes>[0]
  const routes = pairRoutes(deps)
  async function ask(route: object, input: object) {
    const { handler } = routes.find(({ definition }) => definition === route)!
    return await handler({ caller: { subject: ANN }, ...input } as Parameters<typeof handler>[0])
  }
  return Object.assign(ask, { ids, state })
}

async function likesOf(likers: readonly Partial<MatchProfile>[]) {
  const { body } = await routesOf(likers)(likesRoute, {})
  return JSON.parse(body as string) as { count: number; more: boolean; likes: { liked_at: string }[] }
}

const suitable = {}
const unsuitable = { gender: 'f' }
const many = (count: number, one: Partial<MatchProfile>) => Array.from({ length: count }, () => one)

test('the list of likes has the newest 1,000 users who pass the filters, among the newest 10,000 who like the caller', async () => {
  const mixed = await likesOf([...many(1_200, unsuitable), ...many(3, suitable)])
  expect([mixed.count, mixed.more, mixed.likes[0].liked_at]).toEqual([3, false, new Date(NOW - 1_200).toISOString()])
  const full = await likesOf([suitable, unsuitable, ...many(999, suitable)])
  expect([full.count, full.more]).toEqual([1_000, false])
  const more = await likesOf([...many(1_000, suitable), unsuitable, suitable])
  expect([more.count, more.more, more.likes.length]).toEqual([1_000, true, 1_000])
  // If a user has very many likes, the view contains only the newest ones.
  const most = await likesOf([...many(10_000, unsuitable), suitable])
  expect([most.count, most.more]).toEqual([0, true])
})

test('deactivated users are neither in the list of matches nor in its total, and leave no gaps in pages', async () => {
  const off = { is_active: false }
  const ask = routesOf([off, suitable, off, suitable, ...many(1_200, off), suitable, off], { matchedAt: (at) => at })
  async function pageOf(page: number) {
    const { body } = await ask(matchesRoute, { query: { page, limit: 2 } })
    return JSON.parse(body as string) as { total: number; matches: { matched_at: string }[] }
  }
  const agesOf = ({ matches }: Awaited<ReturnType<typeof pageOf>>) => matches.map(({ matched_at }) => NOW - Date.parse(matched_at))
  const [first, second, third] = [await pageOf(1), await pageOf(2), await pageOf(3)]
  expect([first, second, third].map(({ total }) => total)).toEqual([3, 3, 3])
  expect([first, second, third].map(agesOf)).toEqual([[1, 3], [1_204], []])
})

test('a page of matches reads only its own profiles once all matches are checked, and its total reflects blocks, ends of matches and deletions immediately', async () => {
  const ask = routesOf([{ is_active: false }, ...many(50, suitable)], { matchedAt: (at) => at - 3_600_000 })
  const { ids, state } = ask
  async function pageOf(page: number) {
    const { body } = await ask(matchesRoute, { query: { page, limit: 5 } })
    const { total, matches } = JSON.parse(body as string) as { total: number; matches: { user_id: string }[] }
    return { total, ids: matches.map(({ user_id }) => user_id) }
  }
  expect(await pageOf(1)).toEqual({ total: 50, ids: ids.slice(1, 6) })
  state.reads = 0
  expect(await pageOf(2)).toEqual({ total: 50, ids: ids.slice(6, 11) })
  expect(state.reads).toBe(5)
  state.recent = { [severedField(ids[1], 'blocks')]: `${NOW} 1` }
  state.matches.set(ids[2], -NOW)
  state.profiles.delete(ids[3])
  expect(await pageOf(1)).toEqual({ total: 47, ids: ids.slice(4, 9) })
  state.recent = {}
  expect(await pageOf(1)).toEqual({ total: 48, ids: [ids[1], ...ids.slice(4, 8)] })
  // A new match is checked immediately. Matches that were already checked are checked again only after a minute.
  const fresh = '0c000000-0000-4000-8000-000000000000'
  state.matches.set(fresh, NOW)
  expect((await pageOf(1)).total).toBe(48)
  state.profiles.set(fresh, { ...profile, user_id: fresh })
  state.profiles.set(ids[0], { ...profile, user_id: ids[0] })
  state.now += 60_000
  expect(await pageOf(1)).toEqual({ total: 50, ids: [fresh, ids[0], ids[1], ids[4], ids[5]] })
})

test('a match is ended for both users, and a repeated request gets the first response, even if the match is gone', async () => {
  const sent: PairCommand[] = []
  const ask = routesOf([suitable], { sent, matchedAt: (at) => at }, { outcome: 'done', changed_at: NOW })
  const [other] = ask.ids
  const end = async (idempotencyKey?: string) =>
    (await ask(unmatchRoute, { params: { match_id: matchIdOf(ANN, other) }, idempotencyKey })).status
  expect(await end('one')).toBe(204)
  const notes = [
    [ANN, severedField(other, 'ended'), NOW, true],
    [other, severedField(ANN, 'ended'), NOW, true],
  ]
  expect(ask.state.severed).toEqual(notes)
  // The view keeps a match that has ended, so further requests to end it change nothing.
  ask.state.matches.set(other, -NOW)
  expect(await end()).toBe(204)
  ask.state.matches.clear()
  expect(await end('one')).toBe(204)
  expect(new Set(sent.map(({ match_id, other_id }) => `${match_id} ${other_id}`))).toEqual(new Set([`${matchIdOf(ANN, other)} ${other}`]))
  await expect(end('two')).rejects.toMatchObject({ definition: matchesErrors.match_not_found })
  await expect(end()).rejects.toMatchObject({ definition: matchesErrors.match_not_found })
})

test('if a block ends a match, the end is noted in addition to the block, so that the match stays ended even if the block is lifted at once', async () => {
  const notesOf = async (route: object, answer: PairAnswer) => {
    const ask = routesOf([], {}, answer)
    expect((await ask(route, { params: { user_id: BOB } })).status).toBe(204)
    return ask.state.severed
  }
  const blocks = (at: number, isBlocked: boolean) => [
    [ANN, severedField(BOB, 'blocks'), at, isBlocked],
    [BOB, severedField(ANN, 'blocked'), at, isBlocked],
  ]
  const ended = [
    [ANN, severedField(BOB, 'ended'), NOW, true],
    [BOB, severedField(ANN, 'ended'), NOW, true],
  ]
  const done = { outcome: 'done', changed_at: NOW + 1 } as const
  expect(await notesOf(blockRoute, done)).toEqual(blocks(NOW + 1, true))
  expect(await notesOf(unblockRoute, done)).toEqual(blocks(NOW + 1, false))
  expect(await notesOf(blockRoute, { ...done, ended_at: NOW })).toEqual([...blocks(NOW + 1, true), ...ended])
  expect(await notesOf(unblockRoute, { ...done, ended_at: NOW })).toEqual([...blocks(NOW + 1, false), ...ended])
})

test('a block and its removal are dated later than the profile of the caller, so that they do not count as actions of an earlier profile that was deleted', async () => {
  const sent: PairCommand[] = []
  const ask = routesOf([], { sent }, { outcome: 'done', changed_at: NOW })
  for (const route of [blockRoute, unblockRoute]) expect((await ask(route, { params: { user_id: BOB } })).status).toBe(204)
  expect(sent).toMatchObject([
    { action: 'block', not_before: NOW + 1 },
    { action: 'unblock', not_before: NOW + 1 },
  ])
})

test('lifting a block that never existed stores no notes', async () => {
  const ask = routesOf([], {}, { outcome: 'done', changed_at: 0 })
  expect((await ask(unblockRoute, { params: { user_id: BOB } })).status).toBe(204)
  expect(ask.state.severed).toEqual([])
})

test('a report of a match becomes a command with the key of the pair, and is accepted even if the pair has no match', async () => {
  const sent: PairCommand[] = []
  const body = { match_id: matchIdOf(ANN, BOB).toUpperCase(), user_a: ANN, user_b: BOB, matched_at: new Date(NOW).toISOString() }
  expect((await routesOf([], { sent })(notifyRoute, { body })).status).toBe(202)
  expect(sent).toEqual([{ action: 'notify', actor_id: ANN, other_id: BOB, match_id: matchIdOf(ANN, BOB), matched_at: NOW, not_before: 0 }])
})

test('only other services may report a match, and an invalid report is refused', async () => {
  const { app, bearer } = await matchesApi()
  const body = { match_id: matchIdOf(ANN, BOB), user_a: ANN, user_b: BOB, matched_at: new Date(NOW).toISOString() }
  async function report(scope: string | undefined, change: object = {}): Promise<number> {
    const headers = { ...(await bearer({ sub: ANN, scope })), 'content-type': 'application/json' }
    const { status } = await app.request('/v1/match/notify', { method: 'POST', headers, body: JSON.stringify({ ...body, ...change }) })
    return status
  }
  expect(await report(undefined)).toBe(403)
  expect((await app.request('/v1/match/notify', { method: 'POST', body: JSON.stringify(body) })).status).toBe(401)
  for (const change of [{ match_id: 'x' }, { user_a: 'x' }, { user_b: ANN }, { matched_at: NOW }, { matched_at: undefined }])
    expect([change, await report('internal', change)]).toEqual([change, 400])
})
