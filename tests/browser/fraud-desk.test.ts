import { mkdirSync } from 'node:fs'
import type { BrowserContextOptions, Page, Route } from 'playwright-core'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startServer } from '../../api/kit/server.ts'
import { deskPart } from '../../api/fraud/desk/part.ts'
import { START, signToken, testApp } from '../api/kit/harness.ts'
import { useChromium } from './chromium.ts'
import { deskFakes, HOSTILE } from './fraud-desk-fakes.ts'

const SHOTS = process.env.DESK_SHOTS

describe('the desk of fraud scoring in Chromium, with a fake API behind the real sign-in', () => {
  const open = useChromium()

  async function opened({
    scope = 'fraud:ops fraud:analyst',
    hash = '',
    ...options
  }: BrowserContextOptions & { scope?: string; hash?: string } = {}) {
    const service = { name: 'fraud', description: '', isUserId: () => true, errors: [], probes: [], routes: deskPart().routes }
    const api = await testApp({ services: [{ ...service, routes: [...service.routes] }] })
    const server = await startServer({ ...api, host: '127.0.0.1', port: 0, now: () => api.clock.now })
    onTestFinished(async () => void (await server.close(0)))
    const { page, complaints } = await open(server.url, options)
    const fakes = deskFakes()
    await page.route(/\/api\/v1\/(?!session)/, async (route: Route) => {
      const { status = 200, body } = fakes.answer(route.request())
      await route.fulfill({ status, headers: { 'content-type': 'application/json' }, body: body === undefined ? '' : JSON.stringify(body) })
    })
    const token = await signToken(api.key, { sub: 'ann', scope, exp: Math.max(Date.now(), START) + 3_600_000 })
    await page.goto(`/fraud${hash}`)
    await page.getByLabel('Token').fill(token)
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    return { page, complaints, token, fakes, api }
  }

  async function shot(page: Page, name: string) {
    if (SHOTS === undefined) return
    mkdirSync(SHOTS, { recursive: true })
    await page.screenshot({ path: `${SHOTS}/${name}.png`, fullPage: true })
  }

  test.skipIf(SHOTS === undefined)('screenshots', { timeout: 120_000 }, async () => {
    for (const [width, scheme] of [
      [1280, 'light'],
      [400, 'dark'],
      [400, 'light'],
      [1280, 'dark'],
    ] as const) {
      const { page } = await opened({ viewport: { width, height: 900 }, colorScheme: scheme })
      await page.locator('.entry').first().waitFor()
      await shot(page, `queue-${width}-${scheme}`)
      await page.locator('.entry').first().click()
      await page.getByRole('heading', { name: /810/ }).waitFor()
      await shot(page, `case-${width}-${scheme}`)
      await page.keyboard.press('f')
      await shot(page, `verdict-${width}-${scheme}`)
      await page.keyboard.press('Escape')
      await page.getByRole('link', { name: 'Rules' }).click()
      await page.locator('#rule-rows tr').first().waitFor()
      await shot(page, `rules-${width}-${scheme}`)
      await page.locator('#rule-rows a').first().click()
      await page.locator('#condition').fill('velocity.user.txn_count_1h > 5\n  AND txn.amonut > 100')
      await page.getByText('line 2, column 7').waitFor()
      await page.getByRole('button', { name: 'Start' }).click()
      await page.getByText('The back-test is done.').waitFor()
      await shot(page, `editor-${width}-${scheme}`)
      await page.getByRole('link', { name: 'Models' }).click()
      await page.locator('.plot').first().waitFor()
      await shot(page, `models-${width}-${scheme}`)
    }
  })

  test('placeholder', () => expect(HOSTILE).toBeTruthy())
})
