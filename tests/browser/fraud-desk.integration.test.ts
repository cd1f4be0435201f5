import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type FraudSystem, fraudSystem, payment } from '../api/fraud/system.ts'
import { testStack } from '../stack/index.ts'
import { useChromium } from './chromium.ts'

const SOON = { timeout: 60_000, interval: 100 }
const HOSTILE = '<img src=x onerror=alert(1)>'
const HOUR_MS = 3_600_000

let system: FraudSystem
beforeAll(async () => {
  system = await fraudSystem({ registry: await testStack().registry() })
})
/**
 * Number of attempts of all tests so far. It is part of ids, so that a retried test does not find the data of its first
 * attempt.
 */
let attempt = 0
beforeEach(() => {
  attempt++
})

async function scored(body: object): Promise<string> {
  return (await system.ask('POST', 'transactions/score', { body })).body.decision
}

/** Waits until a table contains `count` transactions whose ids begin with the prefix. */
async function stored(table: string, prefix: string, count: number): Promise<void> {
  const query = `SELECT count() FROM ${system.env.CLICKHOUSE_DATABASE}.${table} FINAL WHERE startsWith(transaction_id, '${prefix}')`
  const url = `${system.env.CLICKHOUSE_URL}/?${new URLSearchParams({ query })}`
  await expect.poll(async () => (await (await fetch(url)).text()).trim(), SOON).toBe(String(count))
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

  test('a payment under review becomes a case, and an analyst gives a verdict by keyboard and then corrects it', async () => {
    const user = `${HOSTILE} ${attempt}`
    const paid = (id: string, amount: number, lat: number, lng: number) => {
      const device = { fingerprint_id: 'd1', geo_location: { lat, lng } }
      return payment(`case${attempt}-${id}`, {
        amount,
        payer: { user_id: user, account_age_days: 1 },
        payee: { merchant_id: HOSTILE },
        device,
      })
    }
    expect(await scored(paid('low', 12, 52.5, 13.4))).toBe('APPROVE')
    // The amount is high for an account that is one day old.
    expect(await scored(paid('high', 900, 52.52, 13.41))).toBe('REVIEW')
    // Waits until both transactions are stored, because the page reads the user's transactions only once.
    await stored('fraud_transactions', `case${attempt}-`, 2)

    const { page, complaints } = await signedIn('')
    const entry = page.locator('.entry').filter({ hasText: user })
    // The queue refreshes at intervals. Filtering refreshes it immediately.
    await expect
      .poll(async () => {
        await page.locator('#filters').dispatchEvent('change')
        return await entry.isVisible()
      }, SOON)
      .toBe(true)
    await page.keyboard.press('j')
    const heading = page.getByRole('heading', { name: 'USD 900.00' })
    await heading.waitFor()
    // The browser has cached the files of the page, so the server answers that they have not changed.
    await page.reload()
    await heading.waitFor()
    await page.getByText('seed-new-account-high').first().waitFor()
    expect(await page.locator('#transaction').textContent()).toContain(HOSTILE)
    expect(await page.locator('#places circle.visit').count()).toBe(1)
    expect(await page.locator('#places circle.own').count()).toBe(1)
    expect(await page.locator('#timeline').textContent()).toMatch(/USD\s12\.00/)
    await page.keyboard.press('f')
    await page.keyboard.press('Enter')
    await page.getByText('Recorded as confirmed fraud.').waitFor()
    await page.getByText('Verdict confirmed fraud by analyst-1').waitFor()
    const closed = await system.ask('GET', 'cases?status=CONFIRMED_FRAUD')
    expect(closed.body.cases[0]).toMatchObject({ transaction_id: `case${attempt}-high`, verdict: 'CONFIRMED_FRAUD' })
    await expect.poll(async () => (await system.ask('GET', `profiles/user/${encodeURIComponent(user)}`)).body.risk_tier, SOON).toBe('HIGH')
    await page.keyboard.press('u')
    await page.getByText('Corrected: the verdict is now suspicious.').waitFor()
    const escalated = await system.ask('GET', 'cases?status=ESCALATED')
    expect(escalated.body.cases[0]).toMatchObject({ transaction_id: `case${attempt}-high`, verdict: 'SUSPICIOUS' })
    expect(complaints.join('\n')).toBe('')
  })

  test('the editor refuses an invalid condition, saves a valid one as a shadow rule, back-tests it, and restores the rules', async () => {
    const rule = `big-${attempt}`
    const user = `u-${rule}`
    // This test uses a separate device, because the device of the other test has a confirmed fraud.
    const paid = payment(`${rule}-t`, { payer: { user_id: user }, device: { fingerprint_id: `d-${rule}` } })
    expect(await scored(paid)).toBe('APPROVE')
    await stored('fraud_features', `${rule}-`, 1)
    await stored('fraud_transactions', `${rule}-`, 1)
    const { page, complaints } = await signedIn('#rules')
    await page.getByRole('button', { name: 'New rule' }).click()
    await page.getByLabel('Id', { exact: true }).fill(rule)
    await page.getByLabel('Name').fill('Big payments')
    await page.getByLabel('Condition').fill(`txn.amonut > 1 AND payer.user_id = "${user}"`)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('The condition has an error.').waitFor()
    expect(await page.locator('#condition-marks mark').allTextContents()).toEqual(['txn.amonut'])
    await page.getByRole('button', { name: 'Use txn.amount' }).click()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved.').waitFor()
    const saved = await system.ask('GET', `rules/${rule}`)
    expect(saved.body).toMatchObject({
      condition: `txn.amount > 1 AND payer.user_id = "${user}"`,
      mode: 'shadow',
      enabled: true,
      fault: null,
    })

    const inAnHour = await page.evaluate((ms) => new Date(Date.now() + ms - new Date().getTimezoneOffset() * 60_000).toISOString(), HOUR_MS)
    await page.getByLabel('To', { exact: true }).fill(inAnHour.slice(0, 16))
    await page.getByRole('button', { name: 'Start' }).click()
    await page.getByText('The back-test is done.').waitFor()
    // Searches the text of the whole report, so that a failed test shows the report.
    await expect.poll(() => page.locator('#backtest-report').textContent(), SOON).toContain(`approve → review1 ${rule}-t`)

    await page.getByLabel('Value').fill(user)
    await page.getByRole('button', { name: 'Snooze', exact: true }).click()
    await page.getByRole('button', { name: `End the snooze of ${user}` }).waitFor()
    await page.getByText('Versions of the rule set').click()
    const before = page.locator('#version-list tbody tr').nth(1).getByRole('button')
    await before.click()
    await before.click()
    await page.locator('#version-news', { hasText: 'is in force' }).waitFor()
    expect((await system.ask('GET', `rules/${rule}`)).status).toBe(404)
    // Chromium reports refused requests as failed loads.
    expect(complaints.filter((text) => !text.startsWith('Failed to load resource')).join('\n')).toBe('')
  })
})
