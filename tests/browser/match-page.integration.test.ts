import { beforeAll, describe, expect, test } from 'vitest'
import { matchesSystem, type TestUser } from '../api/matches/system.ts'
import { testStack } from '../stack/index.ts'
import { useChromium } from './chromium.ts'

const SOON = { timeout: 60_000, interval: 50 }
const HOSTILE = '<script>alert(1)</script><img src=x onerror=alert(1)>'
const PLACE = { lat: 37.77, lon: -122.42 }

let system: Awaited<ReturnType<typeof matchesSystem>>
beforeAll(async () => {
  system = await matchesSystem({ apiCount: 1, registry: await testStack().registry() })
})

async function person(profile: object, scope?: string): Promise<TestUser> {
  const user = await system.user({ scope })
  expect((await user.ask('PUT', 'me', { birth_date: '1990-05-01', ...profile })).status).toBe(201)
  expect((await user.ask('POST', 'location', PLACE)).status).toBe(204)
  return user
}

describe('the page of the match feed in Chromium, with real servers', () => {
  const open = useChromium()

  test('an administrator swipes by keyboard, sees new matches appear without a reload, and sees the map of a search', async () => {
    const seeks = { gender: 'm', seeking_gender: ['f'] }
    const ann = await person({ display_name: 'Ann', gender: 'f', seeking_gender: ['m'] }, 'admin')
    const bob = await person({
      display_name: `Bob ${HOSTILE}`.slice(0, 50),
      bio: HOSTILE,
      photo_urls: ['https://example.com/x.jpg'],
      ...seeks,
    })
    const cid = await person({ display_name: 'Cid', ...seeks })
    await person({ display_name: 'Dora', gender: 'f' })
    await cid.ask('POST', 'swipe', { target_user_id: ann.id, direction: 'SUPER_LIKE' })
    await expect.poll(async () => (await ann.ask('GET', 'likes')).body.count, SOON).toBe(1)
    await expect
      .poll(async () => (await ann.ask('GET', `feed/explain?user=${ann.id}`)).body, SOON)
      .toMatchObject({ examined: 3, passed: 2 })

    const { page, complaints } = await open(system.apis[0].url)
    await page.goto('/match')
    await page.getByLabel('Token').fill(ann.token)
    await page.keyboard.press('Enter')
    const top = page.locator('.card:not(.next, .left, .right, .up) h3')
    await top.waitFor()
    expect(await top.textContent()).toMatch(/^Cid, /)
    await page.keyboard.press('ArrowLeft')
    await expect.poll(() => top.textContent()).toMatch(/^Bob <script>/)
    expect(await page.textContent('.bio')).toBe(HOSTILE)
    await page.keyboard.press('Backspace')
    await page.getByText('Your last swipe was taken back.').waitFor()
    await expect.poll(() => top.textContent()).toMatch(/^Cid, /)
    await page.keyboard.press('ArrowRight')
    await expect.poll(() => top.textContent()).toMatch(/^Bob /)
    await page.keyboard.press('ArrowUp')
    await page.getByText('Nobody new nearby at the moment.').waitFor()
    await page.getByText('It’s a match with Cid!').waitFor()
    await expect.poll(() => page.locator('#match-list li').count(), SOON).toBe(1)
    // Bob's like arrives without any input on the page.
    await bob.ask('POST', 'swipe', { target_user_id: ann.id, direction: 'RIGHT' })
    await expect.poll(() => page.locator('#match-list li').count(), SOON).toBe(2)
    expect(await page.textContent('#match-news')).toContain('It’s a match with Bob <script>')

    await page.getByRole('button', { name: 'Search as this user' }).click()
    await page.getByText(/The search visited \d+ cells and examined 3 users, of whom 0 passed/).waitFor()
    await page.locator('#map rect[data-people]').last().click()
    const reasons = await page.textContent('#cell')
    for (const reason of ['1 × does not have a gender that the user seeks', '2 × is a match already']) expect(reasons).toContain(reason)
    expect(await page.locator('img, #match-list script').count()).toBe(0)
    expect(complaints.join('\n')).toBe('')
  })

  test('a user who is not an administrator may not see the cells of a search', async () => {
    const user = await person({ display_name: 'Eve' })
    expect((await user.ask('GET', `feed/explain?user=${user.id}`)).status).toBe(403)
  })
})
