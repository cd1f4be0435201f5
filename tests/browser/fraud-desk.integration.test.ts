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

  async function signedIn(hash: string) {
    const { page, complaints } = await open(system.apis[0].url)
    await page.goto(`/fraud${hash}`)
    await page.getByLabel('Token').fill(system.token)
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    return { page, complaints }
  }

  test('a payment under review becomes a case, which an analyst judges by key and corrects', async () => {
    const score = async (body: object) => (await system.ask('POST', 'transactions/score', { body })).body
    expect((await score(paid('t1', 12, 52.5, 13.4))).decision).toBe('APPROVE')
    // A high amount from an account of a day.
    expect((await score(paid('t2', 900, 52.52, 13.41))).decision).toBe('REVIEW')
    // The page asks once for the user's transactions, which take some seconds to reach ClickHouse.
    const listed = async () => (await system.ask('GET', `transactions?user_id=${encodeURIComponent(HOSTILE)}`)).body.transactions?.length
    await expect.poll(listed, SOON).toBe(2)

    const { page, complaints } = await signedIn('')
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
    expect(await page.locator('#places circle.visit').count()).toBe(1)
    expect(await page.locator('#places circle.own').count()).toBe(1)
    expect(await page.locator('#timeline').textContent()).toContain('12.00')
    await page.keyboard.press('f')
    await page.keyboard.press('Enter')
    await page.getByText('Recorded as confirmed fraud.').waitFor()
    await page.getByText('Verdict confirmed fraud by analyst-1').waitFor()
    expect((await system.ask('GET', 'cases?status=CONFIRMED_FRAUD')).body.cases).toMatchObject([{ transaction_id: 't2' }])
    await expect
      .poll(async () => (await system.ask('GET', `profiles/user/${encodeURIComponent(HOSTILE)}`)).body.risk_tier, SOON)
      .toBe('HIGH')
    await page.keyboard.press('u')
    await page.getByText('Corrected: the verdict is now suspicious.').waitFor()
    const { body } = await system.ask('GET', 'cases?status=ESCALATED')
    expect(body.cases).toMatchObject([{ transaction_id: 't2', verdict: 'SUSPICIOUS' }])
    expect(complaints).toEqual([])
  })

  test('the editor refuses a wrong condition, saves the right one in shadow, back-tests it, and rolls back', async () => {
    await system.ask('POST', 'transactions/score', { body: payment('t3', { amount: 5, payer: { user_id: 'u3' } }) })
    const stored = async () => (await system.ask('GET', 'transactions?user_id=u3')).body.transactions?.length
    await expect.poll(stored, SOON).toBe(1)
    const { page, complaints } = await signedIn('#rules')
    await page.getByRole('button', { name: 'New rule' }).click()
    await page.getByLabel('Id', { exact: true }).fill('big')
    await page.getByLabel('Name').fill('Big payments')
    await page.getByLabel('Condition').fill('txn.amonut > 1')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('The condition has a fault.').waitFor()
    expect(await page.locator('#condition-marks mark').allTextContents()).toEqual(['txn.amonut'])
    await page.getByRole('button', { name: 'Use txn.amount' }).click()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved.').waitFor()
    const saved = await system.ask('GET', 'rules/big')
    expect(saved.body).toMatchObject({ condition: 'txn.amount > 1', mode: 'shadow', enabled: true, fault: null })

    const inAnHour = new Date(Date.now() + 3_600_000).toISOString().slice(0, 16)
    await page.getByLabel('Mode', { exact: true }).selectOption('live')
    await page.getByLabel('To', { exact: true }).fill(inAnHour)
    await page.getByRole('button', { name: 'Start' }).click()
    await page.getByText('The back-test is done.').waitFor()
    expect(await page.getByRole('row', { name: /approve → review/ }).textContent()).toContain('t3')

    await page.getByLabel('Value').fill('u3')
    await page.getByRole('button', { name: 'Snooze', exact: true }).click()
    await page.getByRole('button', { name: 'End the snooze of u3' }).waitFor()
    await page.getByText('Versions of the rule set').click()
    // The first press asks, the second one confirms.
    await page.locator('#version-list tbody tr').nth(1).getByRole('button').dblclick()
    await page.getByText('is in force.').waitFor()
    expect((await system.ask('GET', 'rules/big')).status).toBe(404)
    expect(complaints.filter((text) => !text.startsWith('Failed to load resource'))).toEqual([])
  })
})
