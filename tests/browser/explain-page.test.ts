import { describe, expect, onTestFinished, test } from 'vitest'
import { startServer } from '../../api/kit/server.ts'
import { recommendationsApi } from '../api/recommendations/harness.ts'
import { useChromium } from './chromium.ts'

describe('the page that explains a list in Chromium', () => {
  const open = useChromium()

  test('the facts about the user are readable on a narrow screen', async () => {
    const api = await recommendationsApi()
    const server = await startServer({ ...api, host: '127.0.0.1', port: 0, now: () => api.clock.now })
    onTestFinished(async () => void (await server.close(0)))
    const extraHTTPHeaders = { ...(await api.bearer({ sub: '7', scope: 'internal' })) }
    const { page, complaints } = await open(server.url, { viewport: { width: 360, height: 640 }, extraHTTPHeaders })
    await page.goto('/recommendations/explain?user_id=42')
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360)
    expect((await page.locator('dd').first().boundingBox())!.width).toBeGreaterThan(120)
    expect(complaints.join('\n')).toBe('')
    await page.context().close()
  })
})
