import { describe, expect, onTestFinished, test } from 'vitest'
import { sharedFiles } from '../../api/kit/page/shared.ts'
import { type RunningServer, startServer } from '../../api/kit/server.ts'
import { testApp } from '../api/kit/harness.ts'
import { trendsApi } from '../api/trends/harness.ts'
import { entry } from '../state/views/entries.ts'
import { background, linesOf, useChromium } from './chromium.ts'

const NEW_YORK = 2_459_115
const LONG = 'verylongword'.repeat(12)

describe('the pages of trends in Chromium', () => {
  const open = useChromium()

  async function opened(options: Parameters<typeof open>[1] = {}) {
    const api = await trendsApi()
    const app = await testApp({ services: [{ ...api.service, routes: [...api.service.routes, sharedFiles()] }], probes: [] })
    const server: RunningServer = await startServer({ ...app, host: '127.0.0.1', port: 0, now: () => api.clock.now })
    onTestFinished(async () => void (await server.close(0)))
    const entries = [entry('tea', { label: 'Viral' }), entry(LONG, { label: null })]
    api.putList({ entries })
    api.putList({ woeid: NEW_YORK, entries })
    api.table.rows = Array.from({ length: 40 }, (_, at) => ['tea', api.clock.now / 1_000 - at * 1_800, (at * 7) % 23])
    return { ...api, ...(await open(server.url, options)) }
  }

  test('without scripts, links lead from the world to a city and to a term', async () => {
    const { page, complaints, table } = await opened({ javaScriptEnabled: false })
    await page.goto('/trends')
    await page.getByLabel('Find a place').fill('new york')
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'New York' }).click()
    await page.getByRole('heading', { name: 'Trends in New York' }).waitFor()
    expect(await page.locator('tbody tr').count()).toBe(2)
    expect(await page.locator('.map .current title').textContent()).toBe('New York')
    // Cities on the map are links. Philadelphia is on the map because it is near New York. Philadelphia has no list in
    // this test.
    await page.locator('.map a[href="/trends?woeid=2471217"]').dispatchEvent('click')
    await page.getByRole('heading', { name: 'This page cannot be shown now' }).waitFor()
    await page.goBack()
    table.rows = [[Math.floor(Date.UTC(2026, 0, 15, 12) / 1_000), 12]]
    await page.getByRole('link', { name: '#tea' }).click()
    await page.getByRole('heading', { name: 'tea', exact: true }).waitFor()
    await page.getByRole('link', { name: 'Last week' }).click()
    await page.getByText('Last week: 12 tweets').waitFor()
    await page.getByText('Numbers').click()
    expect(await page.locator('details tbody tr').count()).toBe(168)
    expect(complaints.filter((text) => !text.includes('503')).join('\n')).toBe('')
    await page.context().close()
  })

  test('the pages follow dark mode and fit a narrow screen', async () => {
    const { page, complaints, putList, clock } = await opened({ viewport: { width: 360, height: 640 } })
    for (const path of ['/trends', `/trends?woeid=${NEW_YORK}`, '/trends?q=a', `/trends/terms/${LONG}`]) {
      await page.goto(path)
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360)
    }
    clock.now += 30_000
    putList({ entries: Array.from({ length: 12 }, (_, index) => entry(`term ${index}`)) })
    await page.goto('/trends')
    // A rank such as 12 is not broken into two lines.
    expect(await linesOf(page.locator('tbody td:first-child'))).toEqual(Array.from({ length: 12 }, () => 1))
    const field = await page.getByLabel('Find a place').boundingBox()
    expect((await page.getByRole('button', { name: 'Find' }).boundingBox())!.y).toBeLessThan(field!.y + field!.height)
    const light = await background(page)
    await page.emulateMedia({ colorScheme: 'dark' })
    expect(await background(page)).not.toBe(light)
    expect(complaints.join('\n')).toBe('')
    await page.context().close()
  })
})
