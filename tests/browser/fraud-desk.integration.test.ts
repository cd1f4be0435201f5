import { beforeAll, describe, expect, test } from 'vitest'
import { type FraudSystem, fraudSystem, payment } from '../api/fraud/system.ts'
import { useChromium } from './chromium.ts'

const SOON = { timeout: 60_000, interval: 100 }
const HOSTILE = '<img src=x onerror=alert(1)>'

let system: FraudSystem
beforeAll(async () => {
  system = await fraudSystem()
})

/** A payment from a place. */
function paid(id: string, amount: number, lat: number, lng: number) {
  const device = { fingerprint_id: 'd1', geo_location: { lat, lng } }
  return payment(id, { amount, payer: { user_id: HOSTILE, account_age_days: 1 }, payee: { merchant_id: HOSTILE }, device })
}

describe('the desk of fraud scoring in Chromium, with real servers', () => {
  const open = useChromium()

  test('a payment under review becomes a case, which an analyst judges by key and corrects', async () => {
    const score = async (body: object) => (await system.ask('POST', 'transactions/score', { body })).body
    expect((await score(paid('t1', 12, 52.5, 13.4))).decision).toBe('APPROVE')
    // A high amount from an account of a day.
    expect((await score(paid('t2', 900, 52.52, 13.41))).decision).toBe('REVIEW')

    const { page, complaints } = await open(system.apis[0].url)
    await page.goto('/fraud')
    await page.getByLabel('Token').fill(system.token)
    await page.keyboard.press('Enter')
    const entry = page.locator('.entry').first()
    // The queue renews itself at intervals; filtering renews it at once.
    await expect
      .poll(async () => {
        await page.locator('#filters').dispatchEvent('change')
        return await entry.isVisible()
      }, SOON)
      .toBe(true)
    await page.keyboard.press('j')
    await page.getByRole('heading', { name: 'USD 900.00' }).waitFor()
    await page.getByText('seed-new-account-high').first().waitFor()
    expect(await page.locator('#transaction').textContent()).toContain(HOSTILE)
    await expect
      .poll(async () => {
        await page.reload()
        await page.getByRole('heading', { name: 'USD 900.00' }).waitFor()
        await page.locator('#timeline li').first().waitFor()
        return await page.locator('#places circle').count()
      }, SOON)
      .toBeGreaterThanOrEqual(2)
    await page.keyboard.press('f')
    await page.keyboard.press('Enter')
    await page.getByText('Recorded as confirmed fraud.').waitFor()
    await page.getByText('Verdict confirmed fraud by analyst-1').waitFor()
    await expect
      .poll(async () => (await system.ask('GET', `profiles/user/${encodeURIComponent(HOSTILE)}`)).body.risk_tier, SOON)
      .toBe('HIGH')
    await page.keyboard.press('u')
    await page.getByText('Corrected: the verdict is now suspicious.').waitFor()
    const { body } = await system.ask('GET', 'cases?status=ESCALATED')
    expect(body.cases).toMatchObject([{ transaction_id: 't2', verdict: 'SUSPICIOUS' }])
    expect(complaints).toEqual([])
  })
})
