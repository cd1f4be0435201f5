import { describe, expect, onTestFinished, test } from 'vitest'
import { startServer } from '../../api/kit/server.ts'
import { START, signToken } from '../api/kit/harness.ts'
import { recommendationsApi } from '../api/recommendations/harness.ts'
import { linesOf, useChromium } from './chromium.ts'

describe('the page that explains a list in Chromium', () => {
  const open = useChromium()

  test('the facts about the user are readable on a narrow screen', async () => {
    const api = await recommendationsApi()
    const server = await startServer({ ...api, host: '127.0.0.1', port: 0, now: () => api.clock.now })
    onTestFinished(async () => void (await server.close(0)))
    const extraHTTPHeaders = { ...(await api.bearer({ sub: '7', scope: 'internal' })) }
    const { page, complaints } = await open(server.url, { viewport: { width: 360, height: 640 }, extraHTTPHeaders })
    for (let id = 1n; id <= 12n; id++) {
      api.putItem(id, { title: `Item ${id}`, attributes: { genres: 'Comedy' } })
      api.putStats(id, 200)
    }
    api.putTrending('all', [1n, 2n, 3n, 4n, 5n, 6n, 7n, 8n, 9n, 10n, 11n, 12n])
    await page.goto('/recommendations/explain?user_id=42')
    // Neither a rank such as 12 nor a genre is broken into two lines.
    const cells = page.locator('section[aria-labelledby="list"] :is(td:first-child, td:nth-child(3))')
    expect(await linesOf(cells)).toEqual(Array.from({ length: 24 }, () => 1))
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360)
    expect((await page.locator('dd').first().boundingBox())!.width).toBeGreaterThan(120)
    expect(complaints.join('\n')).toBe('')
    await page.context().close()
  })

  test('if titles consist of one very long word, no column of the tables becomes too wide or too narrow', async () => {
    const api = await recommendationsApi()
    const server = await startServer({ ...api, host: '127.0.0.1', port: 0, now: () => api.clock.now })
    onTestFinished(async () => void (await server.close(0)))
    const { page } = await open(server.url, { extraHTTPHeaders: { ...(await api.bearer({ sub: '7', scope: 'internal' })) } })
    for (let id = 1n; id <= 12n; id++) api.putItem(id, { title: 'x'.repeat(500), attributes: { genres: 'Comedy' } })
    api.putNeighbours(
      1n,
      Array.from({ length: 11 }, (_, index) => ({ itemId: BigInt(index + 2), weight: 5 })),
    )
    await page.goto('/recommendations/explain?user_id=42&rec_type=similar&item_id=1')
    await page.getByText('Scores and ranking features').click()
    for (const heading of ['Item', 'Reason', 'Source']) {
      const columns = await page.getByRole('columnheader', { name: heading, exact: true }).all()
      expect(columns.length).toBeGreaterThan(0)
      for (const column of columns) {
        const { width } = (await column.boundingBox())!
        expect(width).toBeGreaterThanOrEqual(9 * 16)
        expect(width).toBeLessThan(600)
      }
    }
    await page.context().close()
  })

  test('a signed-in user who follows a link from another site needs no new token', async () => {
    const api = await recommendationsApi()
    const server = await startServer({ ...api, host: '127.0.0.1', port: 0, now: () => api.clock.now })
    onTestFinished(async () => void (await server.close(0)))
    const { page } = await open(server.url)
    await page.goto('/recommendations/sign-in')
    expect(await page.isVisible('#continue')).toBe(false)
    await page
      .getByLabel('Token')
      .fill(await signToken(api.key, { sub: '7', scope: 'internal', exp: Math.max(Date.now(), START) + 3_600_000 }))
    await page.keyboard.press('Enter')
    await page.getByText('Signed in as 7').waitFor()
    await page.route('https://other.example/', (route) =>
      route.fulfill({ contentType: 'text/html', body: `<a href="${server.url}/recommendations/explain?user_id=42">list</a>` }),
    )
    await page.goto('https://other.example/')
    await page.getByRole('link', { name: 'list' }).click()
    await page.getByRole('link', { name: 'Continue without a new token' }).click()
    await page.getByRole('heading', { name: 'User 42' }).waitFor()
    await page.context().close()
  })
})
