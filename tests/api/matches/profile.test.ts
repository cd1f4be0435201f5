import { randomUUID } from 'node:crypto'
import { expect, test, vi } from 'vitest'
import { ApiError, errors } from '../../../api/kit/errors.ts'
import { NewProfileBody, ProfilePatchBody } from '../../../api/matches/model.ts'
import { profileRoutes } from '../../../api/matches/profile.ts'
import { deleteProfileRoute, feedRoute, locationRoute } from '../../../api/matches/routes.ts'
import { locationUpdates, matchRelations } from '../../../schemas/matches/topics.ts'
import { placeField } from '../../../state/views/matches/recent.ts'
import { ANN } from '../../pipelines/matches/swipes.ts'
import { matchesApi } from './harness.ts'

const NOW = Date.UTC(2026, 0, 1)

/** Sends a location. Returns the response, and everything that the request publishes, stores and undoes. */
async function locate(body: object, isKafkaAway = false, state: object = { profile: { created_at: 0 }, self: undefined, recent: {} }) {
  const publish = vi.fn(async (..._record: unknown[]) => {
    if (isKafkaAway) throw new ApiError(errors.unavailable)
  })
  const tryToNote = vi.fn(async () => undefined)
  const undoJump = vi.fn(async () => undefined)
  const people = { self: async () => state, checkJump: async () => undoJump, tryToNote }
  const deps = { facts: { publish }, people, now: () => NOW }
  const routes = profileRoutes(deps as unknown as Parameters<typeof profileRoutes>[0])
  const { handler } = routes.find(({ definition }) => definition === (locationRoute as object))!
  const answer = handler({ body: locationRoute.body!.parse(body), caller: { subject: ANN } } as unknown as Parameters<typeof handler>[0])
  return { answer, published: publish.mock.calls, noted: tryToNote.mock.calls, undone: undoJump.mock.calls }
}

test('a location is published and noted, unless it is less accurate than 10 km', async () => {
  const place = { lat: 1, lon: 2 }
  for (const accuracy_m of [undefined, 0, 10_000]) {
    const { answer, published, noted } = await locate({ ...place, accuracy_m })
    expect((await answer).status).toBe(204)
    expect(published).toEqual([[locationUpdates, ANN, { user_id: ANN, ...place, accuracy_m: accuracy_m ?? null, ts: NOW }]])
    expect(noted).toEqual([[ANN, placeField(place, NOW)]])
  }
  for (const accuracy_m of [10_000.1, 5e6, 1e300]) {
    const { answer, published, noted } = await locate({ ...place, accuracy_m })
    expect([accuracy_m, (await answer).status, published, noted]).toEqual([accuracy_m, 204, [], []])
  }
})

test('a location counts even if the clock of a worker or another process is ahead', async () => {
  const body = { lat: 1, lon: 2 }
  for (const [created_at, lastAt, ts] of [
    [NOW - 5, NOW - 5, NOW],
    [NOW + 100, undefined, NOW + 101],
    [NOW, undefined, NOW + 1],
    [NOW - 5, NOW + 200, NOW + 201],
  ]) {
    const recent = { place: lastAt === undefined ? undefined : { ...body, at: lastAt } }
    const { answer, published, noted } = await locate(body, false, { profile: { created_at }, self: undefined, recent })
    expect((await answer).status).toBe(204)
    expect([published[0][2], noted]).toEqual([{ user_id: ANN, ...body, accuracy_m: null, ts }, [[ANN, placeField(body, ts!)]]])
  }
})

test('a location that Kafka does not accept is refused, is not noted, and does not count as a move', async () => {
  const { answer, noted, undone } = await locate({ lat: 1, lon: 2 }, true)
  await expect(answer).rejects.toMatchObject({ definition: errors.unavailable })
  expect([noted, undone]).toEqual([[], [[]]])
  const accepted = await locate({ lat: 1, lon: 2 })
  await accepted.answer
  expect(accepted.undone).toEqual([])
})

test('a user cannot enter the birth date of a minor, sees no score, and gets null for an unknown place', async () => {
  const { app, bearer, facts } = await matchesApi()
  // Chooses a user in the first partition, because the fakes have filled only that partition of the view.
  let sub = randomUUID()
  while (facts.partitionOf(matchRelations, sub) !== 0) sub = randomUUID()
  const headers = { ...(await bearer({ sub: sub.toUpperCase() })), 'content-type': 'application/json' }
  async function me(method: string, body?: object) {
    const answer = await app.request('/v1/me', { method, headers, body: body && JSON.stringify(body) })
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
  }
  for (const method of ['GET', 'PATCH', 'DELETE']) {
    const { body } = await me(method, method === 'PATCH' ? { bio: 'x' } : undefined)
    expect([method, body]).toMatchObject([method, { error: 'profile_not_found', message: expect.stringMatching(/^You have no profile/) }])
  }
  const place = { method: 'POST', headers, body: JSON.stringify({ lat: 1, lon: 2 }) }
  // A user without a profile cannot store a location, because they could not delete it.
  expect(await (await app.request('/v1/location', place)).json()).toMatchObject({ error: 'profile_not_found' })
  const created = await me('PUT', { display_name: 'X', birth_date: '1990-05-01' })
  expect([created.status, created.body.last_active_at]).toEqual([201, created.body.created_at])
  expect((await me('PATCH', { birth_date: '2008-01-16' })).body.error).toBe('under_age')
  expect((await me('PATCH', { birth_date: '2008-01-15' })).body.birth_date).toBe('2008-01-15')
  expect((await me('PATCH', { birth_date: '1905-01-15' })).body.details).toMatchObject([{ path: 'body.birth_date' }])
  expect((await me('PATCH', { birth_date: '0000-01-01' })).status).toBe(400)
  expect((await me('PATCH', { birth_date: '1905-01-16' })).body.birth_date).toBe('1905-01-16')
  const { body } = await me('GET')
  expect(body).toMatchObject({ min_age_pref: 18, max_age_pref: 99, max_dist_km: 50, is_active: true, lat: null, geohash6: null })
  expect(body.user_id).toBe(sub)
  expect(Object.keys(body).filter((name) => /elo|score|deleted/.test(name))).toEqual([])
})

test.each(['display_name', 'gender', 'bio'])(
  '%s must not contain control characters, but a bio may contain tabs and line breaks',
  (field) => {
    const isValid = (text: string) => ProfilePatchBody.safeParse({ [field]: text }).success
    for (const text of ['a\u001b[31mb', 'a\u0007', 'a\u007fb', 'a\u0085b']) expect([text, isValid(text)]).toEqual([text, false])
    for (const text of ['a\nb', 'a\r\nb', 'a\tb', 'a\u2028b']) expect([text, isValid(text)]).toEqual([text, field === 'bio'])
    for (const text of ['Zoë', '👩‍👩‍👧', 'שלום']) expect([text, isValid(text)]).toEqual([text, true])
  },
)

test('a PUT that is repeated after the profile was deleted gets 404', async () => {
  const { app, bearer, facts } = await matchesApi()
  let sub = randomUUID()
  while (facts.partitionOf(matchRelations, sub) !== 0) sub = randomUUID()
  const headers = { ...(await bearer({ sub })), 'content-type': 'application/json', 'idempotency-key': 'k1' }
  const body = JSON.stringify({ display_name: 'X', birth_date: '1990-05-01' })
  expect((await app.request('/v1/me', { method: 'PUT', headers, body })).status).toBe(201)
  expect((await app.request('/v1/me', { method: 'DELETE', headers: await bearer({ sub }) })).status).toBe(204)
  expect((await app.request('/v1/me', { method: 'PUT', headers, body })).status).toBe(404)
})

test.each([
  ['swipe', { last: { swipeId: 's', targetId: 't', direction: 'LEFT', at: NOW + 3 } }, 0, NOW + 3],
  ['location', { place: { lat: 1, lon: 2, at: NOW + 2 } }, 0, NOW + 2],
  ['block', {}, NOW + 1, NOW + 1],
  ['activity', {}, 0, NOW + 4, { last_active_at: NOW + 4, last_swipe: null, lat: null, lon: null, location_updated_at: null }],
])(
  'the time of a deletion is not before that of the last %s, even if the clock of another process was ahead',
  async (_what, recent, firstAt, at, self = undefined) => {
    const sent: unknown[] = []
    const run = async (_flow: unknown, _key: string, command: unknown) => {
      sent.push(command)
      return { outcome: 'deleted' }
    }
    const open = vi.fn(async () => ({ run }))
    const people = {
      stateOf: async () => ({ profile: { created_at: 0 }, self, recent }),
      blocked: async () => ({ total: 0, ids: [], firstAt }),
    }
    const deps = { people, commands: { open }, now: () => NOW }
    const routes = profileRoutes(deps as unknown as Parameters<typeof profileRoutes>[0])
    const { handler } = routes.find(({ definition }) => definition === (deleteProfileRoute as object))!
    const input = { caller: { subject: ANN } } as unknown as Parameters<typeof handler>[0]
    expect((await handler(input)).status).toBe(204)
    people.stateOf = async () => {
      throw new ApiError(errors.not_ready)
    }
    expect((await handler(input)).status).toBe(204)
    expect(sent).toMatchObject([
      { action: 'delete', sets: [], not_before: at },
      { action: 'delete', sets: [], not_before: 0 },
    ])
    // A repeated request is recognised by these values. They stay the same if the user swipes between the attempts.
    expect(open.mock.calls.map(([, parts]: unknown[]) => parts)).toEqual([
      ['deleteMatchProfile', {}],
      ['deleteMatchProfile', {}],
    ])
  },
)

test('the limit of a feed request is 20 candidates by default', () => {
  expect(feedRoute.query!.parse({})).toEqual({ limit: 20 })
})

test('the details of a missing field say that it must be a string', () => {
  const { error } = NewProfileBody.safeParse({})
  const missing = { message: 'Invalid input: expected string, received undefined' }
  expect(error?.issues).toMatchObject([
    { path: ['display_name'], ...missing },
    { path: ['birth_date'], ...missing },
  ])
})

test('a photo URL may have any valid domain name as its host, and a wrong URL causes only one error', () => {
  const issuesOf = (url: string) => ProfilePatchBody.safeParse({ photo_urls: [url] }).error?.issues.length ?? 0
  for (const host of ['пример.рф', 'xn--e1afmkfd.xn--p1ai', 'münchen.de', 'a-1.example.co.uk:8443'])
    expect([host, issuesOf(`https://${host}/a.jpg`)]).toEqual([host, 0])
  for (const host of ['localhost', '127.0.0.1', '2130706433', '[::1]', '-a.example', 'a..example', 'example.xn--'])
    expect([host, issuesOf(`https://${host}/a.jpg`)]).toEqual([host, 1])
  for (const url of ['javascript:alert(1)', '', 'http://localhost/']) expect([url, issuesOf(url)]).toEqual([url, 1])
})

test('a photo has an absolute https URL, so that a page never loads it from its own server', () => {
  const isAccepted = (url: string) => ProfilePatchBody.safeParse({ photo_urls: [url] }).success
  for (const url of ['https://example.com/a.jpg', 'HTTPS://example.com']) expect([url, isAccepted(url)]).toEqual([url, true])
  for (const url of ['https:example.com', 'https:/example.com', 'https:\\\\example.com', 'http://example.com', '//example.com'])
    expect([url, isAccepted(url)]).toEqual([url, false])
})
