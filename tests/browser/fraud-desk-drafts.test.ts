import type { Page, Route } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { START, signToken } from '../api/kit/harness.ts'
import { HOSTILE, refusal } from './fraud-desk-fakes.ts'
import { useDesk } from './fraud-desk-page.ts'

const CASE = '#case/90071992547409931'
const OTHER_CASE = '#case/90071992547409932'

/** Follows a link within the desk. */
const go = (page: Page, hash: string) =>
  page.evaluate((to) => {
    location.hash = to
  }, hash)

describe('unsaved input on the desk of fraud scoring, with a fake API behind the real sign-in', () => {
  const opened = useDesk()

  test('notes that are not saved when another case is opened appear again with their own case', async () => {
    const { page, fakes } = await opened({ hash: CASE })
    await page.getByRole('heading', { name: 'EUR 1,249.90' }).waitFor()
    await page.getByLabel('Notes on the case').fill('called the user')
    await go(page, OTHER_CASE)
    await page.getByRole('heading', { name: 'EUR 624.95' }).waitFor()
    expect(await page.getByLabel('Notes on the case').inputValue()).toBe('')
    await go(page, '#rules')
    await go(page, CASE)
    await page.getByText('These notes are not saved yet.').waitFor()
    expect(await page.getByLabel('Notes on the case').inputValue()).toBe('called the user')
    await page.getByRole('button', { name: 'Save notes' }).click()
    await page.getByText('The notes are saved.').waitFor()
    expect(fakes.cases[0].notes).toBe('called the user')
    Object.assign(fakes.cases[0], { notes: 'called the user twice', version: 3 })
    await go(page, OTHER_CASE)
    await page.getByRole('heading', { name: 'EUR 624.95' }).waitFor()
    await go(page, CASE)
    await expect.poll(() => page.getByLabel('Notes on the case').inputValue()).toBe('called the user twice')
    expect(await page.textContent('#notes-news')).toBe('')
  })

  test('notes that are being saved when another case is opened are kept only until they are saved', async () => {
    const { page, fakes } = await opened({ hash: CASE })
    const read = async (hash: string, title: string) => {
      await go(page, hash)
      await page.getByRole('heading', { name: title }).waitFor()
    }
    await read(CASE, 'EUR 1,249.90')
    const waiting: Route[] = []
    await page.route('**/api/v1/cases/90071992547409931', (route) =>
      route.request().method() === 'PATCH' ? void waiting.push(route) : route.fallback(),
    )
    const saveAndLeave = async (notes: string) => {
      await page.getByLabel('Notes on the case').fill(notes)
      await page.getByRole('button', { name: 'Save notes' }).click()
      await read(OTHER_CASE, 'EUR 624.95')
    }
    await saveAndLeave('first')
    await waiting[0].fallback()
    await expect.poll(() => fakes.cases[0].notes).toBe('first')
    await read(CASE, 'EUR 1,249.90')
    expect(await page.textContent('#notes-news')).toBe('')
    await saveAndLeave('second')
    await waiting[1].abort()
    const message = page.getByRole('alert').filter({ hasText: 'The notes on the case of transaction t-1 were not saved.' })
    await message.waitFor()
    await read(CASE, 'EUR 1,249.90')
    await page.getByText('These notes are not saved yet.').waitFor()
    expect(await page.getByLabel('Notes on the case').inputValue()).toBe('second')
    await page.getByRole('button', { name: 'Assign to me' }).click()
    await expect.poll(() => waiting.length).toBe(3)
    await waiting[2].fallback()
    await page.getByRole('button', { name: 'Release' }).waitFor()
    expect(await message.count()).toBe(1)
    await page.getByRole('button', { name: 'Save notes' }).click()
    await expect.poll(() => waiting.length).toBe(4)
    await waiting[3].fallback()
    await page.getByText('The notes are saved.').waitFor()
    expect(await message.count()).toBe(0)
  })

  test('unsaved changes to a rule appear again with their own rule after another rule or another part of the desk was opened', async () => {
    const { page, fakes } = await opened({ hash: '#rule/night' })
    await page.getByRole('heading', { name: 'Rule night' }).waitFor()
    await page.getByLabel('Condition').fill('txn.amount > 5000')
    await page.getByLabel('Priority').fill('7')
    await page.getByRole('link', { name: 'seed-impossible-travel' }).click()
    await page.getByRole('heading', { name: 'Rule seed-impossible-travel' }).waitFor()
    expect(await page.getByLabel('Condition').inputValue()).toBe('txn.amount > 100')
    await page.getByRole('button', { name: 'New rule' }).click()
    await page.getByLabel('Id', { exact: true }).fill('big')
    await page.getByRole('link', { name: 'Models', exact: true }).click()
    await page.getByText('Models in force').waitFor()
    await go(page, '#rule/night')
    await page.getByText('These changes are not saved yet.').waitFor()
    expect(await page.getByLabel('Condition').inputValue()).toBe('txn.amount > 5000')
    await page.getByRole('button', { name: 'New rule' }).click()
    expect(await page.getByLabel('Id', { exact: true }).inputValue()).toBe('big')
    await go(page, '#rule/night')
    await page.getByRole('heading', { name: 'Rule night' }).waitFor()
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('Saved.').waitFor()
    expect(fakes.rules[1]).toMatchObject({ condition: 'txn.amount > 5000', priority: 7 })
    // After the save, the page keeps no unsaved changes to the rule. “Close” discards what was entered for the new
    // rule.
    await page.getByRole('link', { name: 'seed-impossible-travel' }).click()
    await page.getByRole('link', { name: 'night' }).click()
    await page.getByRole('heading', { name: 'Rule night' }).waitFor()
    expect(await page.textContent('#rule-news')).toBe('')
    await page.getByRole('button', { name: 'New rule' }).click()
    await page.locator('#close-rule').click()
    await page.getByRole('button', { name: 'New rule' }).click()
    expect(await page.getByLabel('Id', { exact: true }).inputValue()).toBe('')
  })

  test('unsaved changes to a rule that the page has kept do not overwrite a change by another analyst', async () => {
    const { page, fakes } = await opened({ hash: '#rule/night' })
    await page.getByRole('heading', { name: 'Rule night' }).waitFor()
    await page.getByLabel('Name').fill('Payments at night')
    await page.getByRole('link', { name: 'Cases', exact: true }).click()
    Object.assign(fakes.rules[1], { priority: 7, updated_at: '2026-01-01T00:00:00.000Z' })
    const listed = page.waitForResponse(/\/api\/v1\/rules$/)
    await go(page, '#rule/night')
    await (await listed).finished()
    await page.getByText('These changes are not saved yet.').waitFor()
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('alert').filter({ hasText: 'Somebody else has changed this' }).waitFor()
    expect(fakes.rules[1]).toMatchObject({ priority: 7, name: 'Rule night' })
  })

  test('after a conflict, the author of a rule sees what somebody else has changed, and can save again', async () => {
    const { page, fakes } = await opened({ hash: '#rule/night' })
    await page.getByRole('heading', { name: 'Rule night' }).waitFor()
    await page.getByLabel('Name').fill('Payments at night')
    await page.getByLabel('Condition').fill('txn.amount > 5000')
    const byBob = { name: "Bob's name", priority: 7, enabled: false, updated_at: '2026-01-01T00:00:00.000Z' }
    Object.assign(fakes.rules[1], byBob)
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    const news = page.locator('#rule-news')
    await news.getByText('Your own changes are not saved yet. The rule is disabled. Saving enables it.').waitFor()
    expect(await news.getByRole('listitem').allTextContents()).toEqual(["Name: Bob's name", 'Priority: 7'])
    expect(await page.getByLabel('Name').inputValue()).toBe('Payments at night')
    expect(fakes.rules[1]).toMatchObject(byBob)
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('Saved.').waitFor()
    const both = { name: 'Payments at night', condition: 'txn.amount > 5000', priority: 7, enabled: true }
    expect(fakes.rules[1]).toMatchObject(both)
  })

  test.each(['a visit to another case', 'a refused assignment'])(
    'after %s, the page shows the changed notes of the case next to the unsaved notes',
    async (after) => {
      const { page, fakes } = await opened({ hash: CASE })
      await page.getByRole('heading', { name: 'EUR 1,249.90' }).waitFor()
      await page.getByLabel('Notes on the case').fill('called the user')
      Object.assign(fakes.cases[0], { notes: HOSTILE, version: 2 })
      if (after === 'a visit to another case') {
        await go(page, OTHER_CASE)
        await page.getByRole('heading', { name: 'EUR 624.95' }).waitFor()
        await go(page, CASE)
      } else await page.getByRole('button', { name: 'Assign to me' }).click()
      await page.getByText(`These notes are not saved yet. In the meantime, the notes of the case have changed to: ${HOSTILE}`).waitFor()
      expect(await page.getByLabel('Notes on the case').inputValue()).toBe('called the user')
      await page.getByRole('button', { name: 'Save notes' }).click()
      await page.getByText('The notes are saved.').waitFor()
      expect(fakes.cases[0]).toMatchObject({ notes: 'called the user', version: 3 })
    },
  )

  test('notes that somebody else has saved are shown before they can be replaced', async () => {
    const { page, fakes } = await opened({ hash: CASE })
    await page.getByRole('heading', { name: 'EUR 1,249.90' }).waitFor()
    await page.getByLabel('Notes on the case').fill('called the user')
    Object.assign(fakes.cases[0], { notes: 'blocked the card', version: 2 })
    await page.getByRole('button', { name: 'Save notes' }).click()
    await page.getByText('the notes of the case have changed to: blocked the card').waitFor()
    expect(fakes.cases[0].notes).toBe('blocked the card')
    expect(await page.getByLabel('Notes on the case').inputValue()).toBe('called the user')
  })

  test('signing out asks first if a user would lose notes, changes to a rule, or changes that are being sent', async () => {
    const { page, fakes } = await opened({ hash: CASE })
    const question = page.getByRole('button', { name: 'Sign out and lose the unsaved changes?' })
    const signOut = page.getByRole('button', { name: 'Sign out', exact: true })
    const isAsked = async () => {
      await signOut.click()
      await question.waitFor()
      await page.locator('#case').focus()
      await signOut.waitFor()
    }
    await page.getByRole('heading', { name: 'EUR 1,249.90' }).waitFor()
    const waiting: Route[] = []
    await page.route('**/api/v1/transactions/t-1/feedback', (route) => void waiting.push(route))
    await page.keyboard.press('p')
    await page.keyboard.press('Enter')
    await expect.poll(() => waiting.length).toBe(1)
    await isAsked()
    await waiting[0].fallback()
    await page.getByText('Recorded as false positive.').waitFor()
    await page.getByLabel('Notes on the case').fill('called the user')
    await isAsked()
    await page.getByLabel('Notes on the case').fill('')
    await go(page, '#rule/night')
    await page.getByRole('heading', { name: 'Rule night' }).waitFor()
    await page.getByLabel('Name').fill('Payments at night')
    await go(page, CASE)
    await isAsked()
    await signOut.click()
    await question.click()
    await page.getByLabel('Token').waitFor()
    expect(fakes.rules[1].name).toBe('Rule night')
  })

  test('changes to a rule count as saved even if the analyst opens another rule while they are being saved, and then returns', async () => {
    const { page, fakes } = await opened({ hash: '#rule/night' })
    await page.getByRole('heading', { name: 'Rule night' }).waitFor()
    const waiting: Route[] = []
    await page.route('**/api/v1/rules/night', (route) => void waiting.push(route))
    const save = async (name: string, rule: string) => {
      const before = waiting.length
      await page.getByLabel('Name').fill(name)
      await page.getByRole('button', { name: 'Save', exact: true }).click()
      await expect.poll(() => waiting.length).toBe(before + 1)
      await page.getByRole('link', { name: 'seed-impossible-travel' }).click()
      await page.getByRole('heading', { name: 'Rule seed-impossible-travel' }).waitFor()
      await go(page, `#rule/${rule}`)
      await page.getByRole('heading', { name: `Rule ${rule}` }).waitFor()
      await waiting[before].fallback()
      await expect.poll(() => fakes.rules[1].name).toBe(name)
    }
    await save('one', 'night')
    await page.getByText('Saved.').waitFor()
    await save('two', 'seed-impossible-travel')
    await page.getByRole('link', { name: 'night' }).click()
    await page.getByRole('heading', { name: 'Rule night' }).waitFor()
    expect([await page.getByLabel('Name').inputValue(), await page.textContent('#rule-news')]).toEqual(['two', ''])
  })

  test('the browser asks before it leaves the page with unsaved notes or rules, and only then', async () => {
    const { page } = await opened({ hash: CASE })
    page.removeAllListeners('dialog')
    page.on('dialog', (dialog) => dialog.dismiss())
    /** Reloads the page, and returns whether the browser asks first. */
    const isAsked = async () => {
      const asked = Promise.race([page.waitForEvent('dialog').then(() => true), page.waitForEvent('load').then(() => false)])
      await page.evaluate(() => void setTimeout(() => location.reload()))
      return await asked
    }
    await page.getByRole('heading', { name: 'EUR 1,249.90' }).waitFor()
    await page.getByLabel('Notes on the case').fill('called the user')
    expect(await isAsked()).toBe(true)
    await go(page, '#rule/night')
    expect(await isAsked()).toBe(true)
    await go(page, CASE)
    await page.getByText('These notes are not saved yet.').waitFor()
    await page.getByLabel('Notes on the case').fill('')
    await go(page, '#rule/night')
    await page.getByRole('heading', { name: 'Rule night' }).waitFor()
    await page.getByLabel('Name').fill('Payments at night')
    expect(await isAsked()).toBe(true)
    await page.getByLabel('Name').fill('Rule night')
    expect(await isAsked()).toBe(false)
  })

  test('somebody else who signs in sees no unsaved notes or rules', async () => {
    const { page, api, fakes } = await opened({ hash: '#rule/night' })
    await page.getByRole('heading', { name: 'Rule night' }).waitFor()
    await page.getByLabel('Name').fill('Payments at night')
    await go(page, CASE)
    await page.getByRole('heading', { name: 'EUR 1,249.90' }).waitFor()
    await page.getByLabel('Notes on the case').fill('called the user')
    await go(page, OTHER_CASE)
    await page.getByRole('heading', { name: 'EUR 624.95' }).waitFor()
    fakes.replaced.set('GET cases', refusal(401, 'unauthorized'))
    await page.getByLabel('Status').selectOption('All')
    await page.getByText('You are no longer signed in').waitFor()
    fakes.replaced.clear()
    const scope = 'fraud:ops fraud:analyst'
    await page.getByLabel('Token').fill(await signToken(api.key, { sub: 'bob', scope, exp: Math.max(Date.now(), START) + 3_600_000 }))
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    await go(page, CASE)
    await page.getByRole('heading', { name: 'EUR 1,249.90' }).waitFor()
    expect(await page.getByLabel('Notes on the case').inputValue()).toBe('')
    await go(page, '#rule/night')
    await page.getByRole('heading', { name: 'Rule night' }).waitFor()
    expect(await page.getByLabel('Name').inputValue()).toBe('Rule night')
  })
})
