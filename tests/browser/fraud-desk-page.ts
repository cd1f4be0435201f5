import type { BrowserContextOptions, Route } from 'playwright-core'
import { onTestFinished } from 'vitest'
import { deskPart } from '../../api/fraud/desk/part.ts'
import { startServer } from '../../api/kit/server.ts'
import { START, signToken, testApp } from '../api/kit/harness.ts'
import { useChromium } from './chromium.ts'
import { deskFakes } from './fraud-desk-fakes.ts'

const NO_TABLES = {
  tables: { query: () => Promise.reject(new Error('unexpected: a page read a table, but this test has none')) },
  now: Date.now,
}

/** Starts a browser that shows the desk of fraud scoring, with a fake API behind the real sign-in. */
export function useDesk() {
  const open = useChromium()

  /** Opens the desk and signs in as Ann. */
  return async function opened({
    scope = 'fraud:ops fraud:analyst',
    hash = '',
    ...options
  }: BrowserContextOptions & { scope?: string; hash?: string } = {}) {
    const service = { name: 'fraud', description: '', isUserId: () => true, errors: [], probes: [], routes: deskPart(NO_TABLES).routes }
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
}
