import type { BrowserContextOptions, Page, Route } from 'playwright-core'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startServer } from '../../api/kit/server.ts'
import { matchesApi } from '../api/matches/harness.ts'
import { background, useChromium } from './chromium.ts'

const HOSTILE = '<img src=x onerror=alert(1)>"\'&amp;\u202e'
const USER = '00000000-0000-4000-8000-000000000001'
const SWIPE_ID = '00000000-0000-4000-8000-00000000000f'

interface Fake {
  readonly status?: number
  readonly headers?: Record<string, string>
  readonly body?: unknown
}

/** Answers of a fake API, keyed by method and path. */
type Fakes = Record<string, (body: Record<string, unknown>) => Fake>

function tokenFor(subject: string, scope?: string): string {
  const encoded = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
  return `${encoded({ alg: 'none' })}.${encoded({ sub: subject, scope })}.x`
}

function candidate(index: number, more: object = {}) {
  const user_id = `${String(index).repeat(8).slice(0, 8)}-0000-4000-8000-${String(index).padStart(12, '0')}`
  return { user_id, display_name: `Person ${index}`, age: 20 + index, bio: '', photo_urls: [], distance_km: index, score: 0.5, ...more }
}

function feed(candidates: readonly object[]) {
  return { body: { candidates, stack_ttl_s: 300, next_refill_hint: new Date(Date.now() + 30_000).toISOString(), location_age_s: 1 } }
}

const NO_MATCHES: Fake = { body: { matches: [], total: 0, page: 1, limit: 100 } }
const failure = (status: number, error: string, headers = {}): Fake => ({
  status,
  headers,
  body: { error, message: 'A message of the API.', request_id: 'r' },
})

describe('the page of the match feed in Chromium, with a fake API', () => {
  const open = useChromium()

  async function opened(fakes: Fakes, { scope, ...options }: BrowserContextOptions & { scope?: string } = {}) {
    const api = await matchesApi()
    const server = await startServer({ ...api, host: '127.0.0.1', port: 0, now: () => api.clock.now })
    onTestFinished(async () => void (await server.close(0)))
    const { page, complaints } = await open(server.url, options)
    const asked: string[] = []
    await page.route('**/v1/**', async (route: Route) => {
      const request = route.request()
      const url = new URL(request.url())
      const name = `${request.method()} ${url.pathname.slice('/v1/'.length)}`
      const fake = fakes[name] ?? (name === 'GET matches' ? () => NO_MATCHES : () => failure(404, 'not_found'))
      const body = request.postDataJSON() ?? Object.fromEntries(url.searchParams)
      if (name !== 'GET matches') asked.push(`${name} ${body.direction ?? ''}`.trim())
      const { status = 200, headers = {}, body: answer = {} } = fake(body)
      await route.fulfill({ status, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(answer) })
    })
    await page.goto('/match')
    await page.getByLabel('Token').fill(tokenFor(USER, scope))
    await page.keyboard.press('Enter')
    return { page, complaints, asked }
  }

  const top = (page: Page) => page.locator('.card:not(.next, .left, .right, .up) h3')
  const swiped: Fake = { body: { swipe_id: SWIPE_ID, match: null } }

  test('users swipe by keyboard and button, markup in profiles is shown as plain text, and no other origin is contacted', async () => {
    const photo_urls = ['https://example.com/x.jpg']
    const people = [
      candidate(1, { display_name: HOSTILE, bio: `${HOSTILE}\n`, photo_urls }),
      ...[2, 3, 4, 5, 6].map((index) => candidate(index)),
    ]
    const gone: unknown[] = []
    const { page, complaints, asked } = await opened({
      'GET feed': () => feed(people.filter(({ user_id }) => !gone.includes(user_id))),
      'POST swipe': ({ target_user_id }) => {
        gone.push(target_user_id)
        return swiped
      },
      'POST swipe/rewind': () => ({ body: { swipe_id: SWIPE_ID, target_user_id: gone.pop(), direction: 'SUPER_LIKE' } }),
      'GET matches': () => ({
        body: {
          matches: [{ ...candidate(9, { display_name: HOSTILE }), match_id: SWIPE_ID, matched_at: '2026-01-01T00:00:00.000Z' }],
          total: 1,
        },
      }),
    })
    await top(page).waitFor()
    expect(await top(page).textContent()).toBe(`${HOSTILE}, 21`)
    expect(await page.textContent('.bio')).toBe(`${HOSTILE}\n`)
    expect(await page.textContent('#match-list bdi')).toBe(HOSTILE)
    expect(await page.locator('img').count()).toBe(0)
    expect(await page.getByText('1 photo on other servers').count()).toBe(1)
    await page.keyboard.press('ArrowRight')
    await expect.poll(() => top(page).textContent()).toBe('Person 2, 22')
    expect(await page.textContent('#deck-news')).toBe(`You like ${HOSTILE}. Next: Person 2, 22.`)
    expect(await page.locator('#deck-news bdi').allTextContents()).toEqual([HOSTILE, 'Person 2'])
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('ArrowUp')
    await expect.poll(() => top(page).textContent()).toBe('Person 4, 24')
    await page.keyboard.press('Backspace')
    await page.getByText('Your last swipe was taken back.').waitFor()
    await expect.poll(() => top(page).textContent()).toBe('Person 3, 23')
    await page.getByRole('button', { name: 'Like', exact: true }).click()
    await expect
      .poll(() => asked.filter((name) => name.startsWith('POST')))
      .toEqual(['POST swipe RIGHT', 'POST swipe LEFT', 'POST swipe SUPER_LIKE', 'POST swipe/rewind', 'POST swipe RIGHT'])
    expect(page.url()).toMatch(/\/match$/)
    expect(complaints.join('\n')).toBe('')
  })

  test('a held Enter key swipes only once', async () => {
    const { page, asked } = await opened({
      'GET feed': () => feed([1, 2, 3, 4, 5, 6, 7].map((index) => candidate(index))),
      'POST swipe': () => swiped,
    })
    await top(page).waitFor()
    await page.getByRole('button', { name: 'Like', exact: true }).focus()
    for (const _ of [1, 2, 3]) await page.keyboard.down('Enter')
    await page.keyboard.up('Enter')
    // If the page sent further likes, it would do so before it sends this swipe.
    await page.keyboard.press('ArrowLeft')
    await expect.poll(() => asked).toContain('POST swipe LEFT')
    expect(asked.filter((name) => name.startsWith('POST'))).toEqual(['POST swipe RIGHT', 'POST swipe LEFT'])
  })

  test('keys typed into a field or pressed with a modifier do not swipe', async () => {
    const { page, asked } = await opened({ 'GET feed': () => feed([candidate(1)]), 'POST swipe': () => swiped }, { scope: 'admin' })
    await top(page).waitFor()
    await page.getByLabel('User', { exact: true }).fill('z')
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('Backspace')
    await page.locator('#deck').focus()
    await page.keyboard.press('Alt+ArrowLeft')
    await page.keyboard.press('Control+z')
    expect(asked.filter((name) => name.startsWith('POST'))).toEqual([])
  })

  test('the page says in plain English what went wrong, and puts the card back unless the person is gone', async () => {
    const answers = [
      failure(429, 'rate_limit_exceeded', { 'Retry-After': '2' }),
      { status: 202, body: { ...(swiped.body as object), queued: true } },
    ]
    const { page } = await opened({
      'GET feed': () => feed([1, 2, 3, 4, 5, 6, 7].map((index) => candidate(index))),
      'POST swipe': () => answers.shift() ?? failure(404, 'profile_not_found'),
      'POST swipe/rewind': () => failure(409, 'already_matched'),
    })
    await top(page).waitFor()
    await page.keyboard.press('ArrowRight')
    await page.getByRole('alert').filter({ hasText: 'That was too fast. Wait 2 seconds.' }).waitFor()
    expect(await top(page).textContent()).toBe('Person 1, 21')
    // The page sends no request before the pause is over.
    await page.keyboard.press('ArrowRight')
    expect(await top(page).textContent()).toBe('Person 1, 21')
    await page.getByText('You can continue.').waitFor()
    await page.keyboard.press('ArrowRight')
    await page.getByText('Your swipe is stored').waitFor()
    expect(await page.getByRole('alert').count()).toBe(0)
    await page.keyboard.press('ArrowRight')
    await page.getByText('This person is no longer available.').waitFor()
    expect(await top(page).textContent()).toBe('Person 3, 23')
    await page.keyboard.press('z')
    await page.getByText('Your last swipe has led to a match').waitFor()
  })

  test('if a swipe fails after the user has asked to rewind it, the rewind does not take back an earlier swipe', async () => {
    const { promise: isPressed, resolve: press } = Promise.withResolvers<void>()
    const answers = [swiped, failure(500, 'internal'), swiped]
    const { page, asked } = await opened({
      'GET feed': () => feed([1, 2, 3, 4, 5, 6, 7].map((index) => candidate(index))),
      'POST swipe': () => answers.shift()!,
      'POST swipe/rewind': () => ({ body: { swipe_id: SWIPE_ID } }),
    })
    await page.route('**/v1/swipe', async (route) => {
      if (answers.length === 2) await isPressed
      await route.fallback()
    })
    await top(page).waitFor()
    await page.keyboard.press('ArrowRight')
    await expect.poll(() => answers.length).toBe(2)
    await expect.poll(() => top(page).textContent()).toBe('Person 2, 22')
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('Backspace')
    press()
    await expect.poll(() => top(page).textContent()).toBe('Person 2, 22')
    // If the page sent the rewind, it would do so before it sends this swipe.
    await page.keyboard.press('ArrowUp')
    await expect.poll(() => answers.length).toBe(0)
    expect(asked.filter((name) => name.startsWith('POST'))).toEqual(['POST swipe RIGHT', 'POST swipe LEFT', 'POST swipe SUPER_LIKE'])
  })

  test('if the profile of the user is missing, a rewind leads to the form for the profile', async () => {
    const { page } = await opened({
      'GET feed': () => feed([candidate(1)]),
      'POST swipe/rewind': () => failure(404, 'profile_not_found'),
    })
    await top(page).waitFor()
    await page.keyboard.press('z')
    await page.getByLabel('Birth date').waitFor()
    expect(await page.getByText('This person is no longer available.').count()).toBe(0)
  })

  test('if the profile of the user is missing, a swipe leads to the form for the profile', async () => {
    const { page } = await opened({
      'GET feed': () => feed([1, 2, 3, 4, 5, 6, 7].map((index) => candidate(index))),
      'GET me': () => failure(404, 'profile_not_found'),
      'POST swipe': () => failure(404, 'profile_not_found'),
    })
    await top(page).waitFor()
    await page.keyboard.press('ArrowRight')
    await page.getByLabel('Birth date').waitFor()
    expect(await page.getByText('This person is no longer available.').count()).toBe(0)
  })

  test('the page does not claim that a rewind has taken effect if the server only queues it', async () => {
    const { page } = await opened({
      'GET feed': () => feed([candidate(1)]),
      'POST swipe/rewind': () => ({ status: 202, body: { swipe_id: SWIPE_ID, target_user_id: SWIPE_ID, direction: 'LEFT', queued: true } }),
    })
    await top(page).waitFor()
    await page.keyboard.press('z')
    await page.getByText('It will take your last swipe back later, unless the swipe has led to a match.').waitFor()
    expect(await page.getByText('Your last swipe was taken back.').count()).toBe(0)
  })

  test('a swipe that the server never answers fails after a time limit, and the next swipe is sent', async () => {
    const { page, asked } = await opened({
      'GET feed': () => feed([1, 2, 3, 4, 5, 6, 7].map((index) => candidate(index))),
      'POST swipe': () => swiped,
    })
    await top(page).waitFor()
    // Lets the test decide when the request times out.
    await page.evaluate(() => {
      const limit = new AbortController()
      AbortSignal.timeout = () => limit.signal
      addEventListener('over', () => limit.abort())
    })
    const unanswered: Route[] = []
    await page.route('**/v1/swipe', (route) => void unanswered.push(route), { times: 1 })
    await page.keyboard.press('ArrowRight')
    await expect.poll(() => unanswered.length).toBe(1)
    await page.evaluate(() => {
      AbortSignal.timeout = () => new AbortController().signal
      dispatchEvent(new Event('over'))
    })
    await page.getByRole('alert').filter({ hasText: 'The server cannot be reached.' }).waitFor()
    expect(await top(page).textContent()).toBe('Person 1, 21')
    await page.keyboard.press('ArrowRight')
    await expect.poll(() => asked).toContain('POST swipe RIGHT')
  })

  test('in a long profile, End and the up arrow scroll, and after a swipe the focus stays in the deck', async () => {
    const { page, asked } = await opened({
      'GET feed': () => feed([candidate(1, { bio: 'walks '.repeat(300) }), candidate(2), candidate(3)]),
      'POST swipe': () => swiped,
    })
    await top(page).waitFor()
    const profile = page.locator('.card:not(.next, .left, .right, .up) .facts')
    await profile.focus()
    await page.keyboard.press('End')
    const toEnd = () => profile.evaluate((facts) => Math.round(facts.scrollHeight - facts.clientHeight - facts.scrollTop))
    await expect.poll(toEnd).toBe(0)
    await page.keyboard.press('ArrowUp')
    await expect.poll(toEnd).toBeGreaterThan(0)
    expect(await top(page).textContent()).toBe('Person 1, 21')
    // The next card is placed a little lower, so its text would otherwise be visible below the top card.
    expect(await page.locator('.card.next .facts').isVisible()).toBe(false)
    await page.keyboard.press('ArrowRight')
    await expect.poll(() => top(page).textContent()).toBe('Person 2, 22')
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('deck')
    await page.keyboard.press('Tab')
    await page.keyboard.press('ArrowUp')
    await expect.poll(() => asked.filter((name) => name.startsWith('POST'))).toEqual(['POST swipe RIGHT', 'POST swipe SUPER_LIKE'])
  })

  test('an old match that moves into the list because another match has ended is not announced as new', async () => {
    const match = (index: number) => ({
      ...candidate(0, { display_name: `Match ${index}`, user_id: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}` }),
      match_id: `m-${index}`,
      matched_at: new Date(Date.UTC(2026, 0, 1, 0, index)).toISOString(),
    })
    const newestFirst = Array.from({ length: 101 }, (_, index) => match(101 - index))
    let all = newestFirst
    const { page } = await opened({
      'GET feed': () => feed([candidate(1)]),
      'GET matches': () => ({ body: { matches: all.slice(0, 100), total: all.length, page: 1, limit: 100 } }),
    })
    await page.getByText('(101)').waitFor()
    all = newestFirst.toSpliced(50, 1)
    await page.getByText('(100)').waitFor()
    expect(await page.textContent('#match-news')).toBe('')
    all = [match(102), ...all]
    await page.getByText('It’s a match with Match 102!').waitFor()
  })

  test('a swipe counts as failed if a proxy answers it with its own page', async () => {
    const { page } = await opened({
      'GET feed': () => feed([1, 2, 3, 4, 5, 6].map((index) => candidate(index))),
      'POST swipe': () => swiped,
    })
    await top(page).waitFor()
    const foreign = { status: 200, headers: { 'content-type': 'text/html' }, body: '<title>Sign in to this network</title>' }
    await page.route('**/v1/swipe', (route) => route.fulfill(foreign))
    await page.keyboard.press('ArrowRight')
    await page.getByRole('alert').filter({ hasText: 'The server cannot be reached.' }).waitFor()
    expect(await top(page).textContent()).toBe('Person 1, 21')
  })

  test('a match that is too old for the list is still included in the number of matches', async () => {
    const matches = Array.from({ length: 100 }, (_, index) => ({
      ...candidate(1),
      match_id: `m-${index}`,
      matched_at: new Date(0).toISOString(),
    }))
    let total = 100
    const { page } = await opened({
      'GET feed': () => feed([candidate(1)]),
      'GET matches': () => ({ body: { matches, total, page: 1, limit: 100 } }),
    })
    await page.getByText('(100)').waitFor()
    total = 101
    await page.getByText('(101)').waitFor()
  })

  test('if the server refuses a token, the page returns to the sign-in and empties the storage of the tab', async () => {
    const { page } = await opened({ 'GET feed': () => failure(401, 'unauthorized') })
    await page.getByText('This token is not valid or has expired.').waitFor()
    expect(await page.isVisible('#token')).toBe(true)
    expect(await page.evaluate(() => sessionStorage.length + localStorage.length)).toBe(0)
  })

  test('the page asks for a missing profile and a missing location', async () => {
    let profile: unknown
    let place: unknown
    const { page, complaints } = await opened({
      'GET feed': () => {
        if (profile === undefined) return failure(404, 'profile_not_found')
        return place === undefined ? failure(400, 'location_required') : feed([candidate(1)])
      },
      'PUT me': (body) => {
        if (body.display_name === 'Zed') {
          const details = [{ path: 'body.seeking_gender[1]', message: 'must have 1 to 20 characters' }]
          return { status: 400, body: { error: 'invalid_request', message: 'See details.', request_id: 'r', details } }
        }
        profile = body
        return { status: 201 }
      },
      'POST location': (body) => {
        place = body
        return { status: 204 }
      },
    })
    await page.getByLabel('Name').fill('Zed')
    await page.getByLabel('Birth date').fill('1990-05-01')
    await page.getByLabel('Genders you seek').fill('m, x')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('This is not valid: Genders you seek must have 1 to 20 characters.').waitFor()
    await page.getByLabel('Name').fill('Ann')
    await page.getByRole('button', { name: 'Save' }).click()
    const isValid = (id: string, text: string) =>
      page.locator(id).evaluate((field: HTMLInputElement, value) => {
        field.value = value
        return field.checkValidity()
      }, text)
    for (const text of ['-90', '90.0', '0', '89,999', ' 7.5 ']) expect([text, await isValid('#lat', text)]).toEqual([text, true])
    for (const text of ['90.01', '91', '-100', '1e1', 'north', ' ', '1,2,3'])
      expect([text, await isValid('#lat', text)]).toEqual([text, false])
    for (const text of ['180', '-180.00', '99', '-122,42']) expect([text, await isValid('#lon', text)]).toEqual([text, true])
    for (const text of ['180.001', '181', '-200']) expect([text, await isValid('#lon', text)]).toEqual([text, false])
    await page.getByLabel('Degrees north').fill(' 37,77')
    await page.getByLabel('Degrees east').fill('-122.42')
    await page.getByRole('button', { name: 'Search here' }).click()
    await top(page).waitFor()
    expect(profile).toEqual({ display_name: 'Ann', birth_date: '1990-05-01', gender: null, seeking_gender: ['m', 'x'] })
    expect(place).toEqual({ lat: 37.77, lon: -122.42 })
    // Chromium reports each response with an error status as a failed load.
    expect(complaints.filter((text) => !text.startsWith('Failed to load resource')).join('\n')).toBe('')
  })

  test('an administrator sees the map of a search, with the reasons for exclusions', async () => {
    const bounds = (index: number) => ({ south: 37 + index / 100, north: 37.01 + index / 100, west: 179.99, east: 180 })
    const cell = { geohash: 'xbpbpb', bounds: bounds(0), examined: 3, passed: 1, excluded: { age: 2 } }
    const people = [
      { user_id: candidate(1).user_id, excluded_by: 'age' },
      { user_id: candidate(2).user_id, excluded_by: null },
    ]
    const empty = {
      geohash: '8000',
      bounds: { south: 36, north: 38, west: -180, east: -178 },
      examined: 0,
      passed: 0,
      excluded: {},
      people: [],
    }
    const { page, complaints, asked } = await opened(
      {
        'GET feed': () => feed([]),
        'GET feed/explain': ({ user, candidate: other }) => {
          if (user !== USER) return failure(404, 'profile_not_found')
          return other === undefined
            ? { body: { user: USER, examined: 3, passed: 1, cells: [{ ...cell, people }, empty] } }
            : { body: { verdicts: [{ filter: 'age', passed: false, value: 70, allowed: HOSTILE }] } }
        },
      },
      { scope: 'internal admin' },
    )
    await page.getByRole('button', { name: 'Search as this user' }).click()
    await page.getByText('The search visited 2 cells and examined 3 users, of whom 1 passed.').waitFor()
    expect(await page.locator('#map rect:not(.here, .chosen)').count()).toBe(2)
    await page.locator('#map rect.found').click()
    expect(await page.textContent('#cell')).toContain('2 × is outside the age limits of the user')
    // A double click sends only one request.
    await page.getByRole('button', { name: candidate(1).user_id }).dblclick()
    await page.getByText(`✗ age: 70, allowed: ${HOSTILE}`).waitFor()
    expect(asked.filter((name) => name === 'GET feed/explain')).toHaveLength(2)
    await page.getByRole('button', { name: 'All' }).click()
    const [outer, inner] = await page
      .locator('#map rect:not(.here, .chosen)')
      .evaluateAll((all) => all.map((rect) => ({ x: Number(rect.getAttribute('x')), width: Number(rect.getAttribute('width')) })))
    // The map does not break at the antimeridian: the cell beyond it is drawn to the right.
    expect(outer.x).toBeCloseTo(inner.x + inner.width, 6)
    expect(complaints.join('\n')).toBe('')
    // The page removes the map of the previous user. Otherwise, it would look like the map of the next user.
    await page.locator('#search-user').fill(candidate(3).user_id)
    await page.getByRole('button', { name: 'Search as this user' }).click()
    await page.getByText('This user has no profile.').waitFor()
    expect([await page.isVisible('#search-result'), await page.locator('#map rect').count()]).toEqual([false, 0])
  })

  test('users who are not administrators see no map; the page fits a narrow screen and follows dark mode and reduced motion', async () => {
    const { page, complaints } = await opened(
      {
        'GET feed': () => feed([1, 2, 3, 4, 5].map((index) => candidate(index, { display_name: 'y'.repeat(50), bio: 'x'.repeat(2_000) }))),
        'POST swipe': () => swiped,
      },
      { viewport: { width: 360, height: 640 }, reducedMotion: 'reduce' },
    )
    await top(page).waitFor()
    const upper = () => document.elementFromPoint(180, 250)?.closest('.card')?.className
    expect(await page.evaluate(upper)).toBe('card')
    expect(await page.isVisible('#search')).toBe(false)
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360)
    await page.keyboard.press('ArrowRight')
    expect(await page.locator('.card.right').count()).toBe(0)
    const light = await background(page)
    await page.emulateMedia({ colorScheme: 'dark' })
    expect(await background(page)).not.toBe(light)
    await page.getByRole('button', { name: 'Sign out' }).click()
    expect(await page.isVisible('#token')).toBe(true)
    expect(await page.evaluate(() => sessionStorage.length)).toBe(0)
    expect(complaints.join('\n')).toBe('')
  })
})
