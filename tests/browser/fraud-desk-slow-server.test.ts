import type { Route } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { useDesk } from './fraud-desk-page.ts'

describe('the desk of fraud scoring while servers are slow or away, with a fake API behind the real sign-in', () => {
  const opened = useDesk()

  test('while a verdict is being sent, the page says so, and the next case can be judged', async () => {
    const { page, fakes } = await opened({ hash: '#case/90071992547409931' })
    await page.getByRole('heading', { name: 'EUR 1,249.90' }).waitFor()
    const waiting: Route[] = []
    await page.route('**/api/v1/transactions/t-1/feedback', (route) => void waiting.push(route))
    await page.keyboard.press('p')
    await page.keyboard.press('Enter')
    await page.getByText('The verdict is being sent.').waitFor()
    await page.keyboard.press('Enter')
    await page.keyboard.press('j')
    await page.getByRole('heading', { name: 'EUR 624.95' }).waitFor()
    await page.keyboard.press('f')
    expect(await page.textContent('#confirm-question')).toBe('Confirm that this is fraud?')
    await page.keyboard.press('Enter')
    await page.getByText('The verdict is being sent.').waitFor()
    await page.keyboard.press('k')
    await page.getByRole('heading', { name: 'EUR 1,249.90' }).waitFor()
    await page.keyboard.press('s')
    expect([await page.isVisible('#confirm'), await page.textContent('#verdict-news')]).toEqual([false, 'The verdict is being sent.'])
    expect(waiting).toHaveLength(1)
    await waiting[0].fallback()
    await page.getByText('Recorded as false positive.').waitFor()
    await expect
      .poll(() => fakes.changes.map(({ line, body }) => [line, body.verdict]))
      .toEqual([
        ['POST transactions/t-1/feedback', 'FALSE_POSITIVE'],
        ['POST transactions/t-2/feedback', 'CONFIRMED_FRAUD'],
      ])
  })

  test('if a verdict fails after the next case was opened, the message names the transaction', async () => {
    const { page } = await opened({ hash: '#case/90071992547409931' })
    await page.getByRole('heading', { name: 'EUR 1,249.90' }).waitFor()
    const waiting: Route[] = []
    await page.route('**/api/v1/transactions/t-1/feedback', (route) => void waiting.push(route))
    await page.keyboard.press('p')
    await page.keyboard.press('Enter')
    await page.keyboard.press('j')
    await page.getByRole('heading', { name: 'EUR 624.95' }).waitFor()
    await waiting[0].abort()
    await page.getByRole('alert').filter({ hasText: 'The verdict on transaction t-1 was not recorded.' }).waitFor()
  })

  test('a verdict that changes nothing cannot be undone', async () => {
    const { page } = await opened({ hash: '#case/90071992547409931' })
    await page.getByRole('heading', { name: 'EUR 1,249.90' }).waitFor()
    for (const { key, verdict, mayUndo } of [
      { key: 's', verdict: 'suspicious', mayUndo: false },
      { key: 'p', verdict: 'false positive', mayUndo: true },
      { key: 'p', verdict: 'false positive', mayUndo: false },
    ]) {
      await page.keyboard.press(key)
      await page.getByLabel('Notes (').fill('a reason')
      await page.keyboard.press('Enter')
      await page.getByText(`Recorded as ${verdict}.`).waitFor()
      expect(await page.isVisible('#undo')).toBe(mayUndo)
    }
  })

  test('the question about a new trial says that the current trial ends', async () => {
    const { page } = await opened({ hash: '#models' })
    await page.getByRole('button', { name: 'Try payment fraud 2026-03' }).click()
    await page
      .getByRole('button', { name: 'Try payment fraud 2026-03 on 5 %? This ends the current trial, and a new one of 7 days begins.' })
      .waitFor()
    await page.getByRole('button', { name: 'End the trial' }).click()
    await page.getByRole('button', { name: 'Really end the trial?' }).click()
    await page.getByText('There is no challenger.').waitFor()
    await page.getByRole('button', { name: 'Try payment fraud 2026-03' }).click()
    await page.getByRole('button', { name: 'Try payment fraud 2026-03 on 5 %?', exact: true }).waitFor()
  })
})
