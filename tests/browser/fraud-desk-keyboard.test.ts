import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { useDesk } from './fraud-desk-page.ts'

/** Presses a button by keyboard. */
async function press(page: Page, name: string) {
  await page.getByRole('button', { name, exact: true }).focus()
  await page.keyboard.press('Enter')
}

/** Waits until the element with the focus has this name or text. */
async function hasFocus(page: Page, name: string) {
  const focused = () => page.evaluate(() => document.activeElement?.ariaLabel ?? document.activeElement?.textContent)
  await expect.poll(focused).toBe(name)
}

describe('the desk of fraud scoring by keyboard, with a fake API behind the real sign-in', () => {
  const opened = useDesk()

  test('signing in, turning pages and assigning a case do not lose the focus', async () => {
    const { page, fakes } = await opened()
    await hasFocus(page, 'Cases')
    fakes.replaced.set('GET cases', { body: { cases: fakes.cases, page: 1, limit: 20, total: 23, complete: true } })
    await page.getByLabel('Status').selectOption('All')
    await page.getByText('1 of 2').waitFor()
    await press(page, 'Next')
    await page.getByText('2 of 2').waitFor()
    await hasFocus(page, 'Next')
    // This was the last page, so the key has no effect.
    await page.keyboard.press('Enter')
    await press(page, 'Previous')
    await page.getByText('1 of 2').waitFor()
    await hasFocus(page, 'Previous')
    await page.locator('.entry').first().focus()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'EUR 1,249.90' }).waitFor()
    await press(page, 'Assign to me')
    await hasFocus(page, 'Release')
  })

  test('changing rules, closing a rule, ending a snooze and restoring a version do not lose the focus', async () => {
    const { page } = await opened({ hash: '#rules' })
    await page.getByRole('button', { name: 'Go live: night' }).waitFor()
    await press(page, 'Go live: night')
    await hasFocus(page, 'To shadow: night')
    await page.getByRole('link', { name: 'night' }).focus()
    await page.keyboard.press('Enter')
    await page.getByText('The rule has no snoozes.').waitFor()
    await page.getByLabel('Value').fill('u1')
    await page.keyboard.press('Enter')
    await press(page, 'End the snooze of u1')
    await hasFocus(page, 'The rule has no snoozes.')
    await press(page, 'Close')
    await hasFocus(page, 'night')
    await page.getByText('Versions of the rule set').click()
    await page.getByRole('row', { name: 'in force' }).waitFor()
    await press(page, 'Restore 6')
    await page.keyboard.press('Enter')
    await page.getByText('Version 8 has the rules of version 6').waitFor()
    await hasFocus(page, 'Restore 6')
    // The row of a disabled rule disappears. The focus then does not move to the button of a different rule.
    await press(page, 'Disable: night')
    await hasFocus(page, '1 of 1 rules, version 7 of the rule set')
  })

  test('changing models does not lose the focus', async () => {
    const { page } = await opened({ hash: '#models' })
    await page.getByText('Models in force').waitFor()
    await press(page, 'Promote the challenger')
    await page.keyboard.press('Enter')
    await page.getByText('There is no challenger.').waitFor()
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('model-versions')
  })
})
