import { describe, expect, test } from 'vitest'
import { START, signToken } from '../api/kit/harness.ts'
import { background } from './chromium.ts'
import { refusal } from './fraud-desk-fakes.ts'
import { useDesk } from './fraud-desk-page.ts'

describe('the desk of fraud scoring in Chromium, with a fake API behind the real sign-in', () => {
  const opened = useDesk()

  test('scopes decide which links are shown; signing out and an ended session lead to the sign-in; nothing stays in the browser', async () => {
    const { page, token, fakes } = await opened({ scope: 'fraud:analyst' })
    await page.locator('.entry').first().waitFor()
    expect(await page.getByRole('link', { name: 'Rules' }).isVisible()).toBe(false)
    const [cookie] = await page.context().cookies()
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict', value: token })
    expect(await page.evaluate(() => [document.cookie, sessionStorage.length, localStorage.length])).toEqual(['', 0, 0])
    // The session survives a reload, with its CSRF token.
    await page.reload()
    await page.locator('.entry').first().click()
    await page.getByRole('heading', { name: 'EUR 1,249.90' }).waitFor()
    await page.keyboard.press('s')
    await page.keyboard.press('Enter')
    await page.getByText('Recorded as suspicious.').waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Token').waitFor()
    expect(await page.context().cookies()).toEqual([])
    expect(await page.locator('.entry').first().isVisible()).toBe(false)
    await page.getByLabel('Token').fill(token)
    await page.keyboard.press('Enter')
    await page.locator('.entry').first().waitFor()
    fakes.replaced.set('GET cases', refusal(401, 'unauthorized'))
    await page.getByLabel('Status').selectOption('All')
    await page.getByText('You are no longer signed in').waitFor()
    expect(await page.isVisible('#token')).toBe(true)
    await page.getByLabel('Token').fill('x.y.z')
    await page.keyboard.press('Enter')
    await page.getByText('You are no longer signed in, or this token is not valid').waitFor()
  })

  test('a page continues with the session that its user has renewed on another page, but not with that of another user', async () => {
    const { page, api, fakes } = await opened()
    const other = await page.context().newPage()
    await other.goto('/fraud')
    const renew = async (sub: string) => {
      const token = await signToken(api.key, { sub, scope: 'fraud:analyst', exp: Math.max(Date.now(), START) + 7_200_000 })
      await other.evaluate(async (sent) => {
        const headers = { 'content-type': 'application/json' }
        await fetch('/api/v1/session', { method: 'POST', headers, body: JSON.stringify({ token: sent }) })
      }, token)
    }
    await renew('bob')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('alert').filter({ hasText: 'Somebody else has signed in' }).waitFor()
    await renew('ann')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Token').waitFor()
    expect(await page.context().cookies()).toEqual([])
    expect(fakes.changes).toEqual([])
  })

  test('what an analyst has entered survives a session that has ended, unless somebody else signs in', async () => {
    const { page, token, api, fakes } = await opened({ hash: '#rule/night' })
    const signIn = async (sent: string) => {
      await page.getByLabel('Token').fill(sent)
      await page.keyboard.press('Enter')
      await page.getByRole('button', { name: 'Sign out' }).waitFor()
    }
    await page.getByLabel('Name').fill('Payments at night')
    fakes.replaced.set('PUT rules/night', refusal(401, 'unauthorized'))
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('You are no longer signed in').waitFor()
    expect(await page.isVisible('#rule-form')).toBe(false)
    await signIn(token)
    expect(await page.getByLabel('Name').inputValue()).toBe('Payments at night')
    await page.goto('/fraud#case/90071992547409931')
    await page.getByLabel('Notes on the case').fill('called the user')
    fakes.replaced.set('PATCH cases/90071992547409931', refusal(401, 'unauthorized'))
    await page.getByRole('button', { name: 'Save notes' }).click()
    await page.getByText('You are no longer signed in').waitFor()
    await signIn(token)
    expect(await page.getByLabel('Notes on the case').inputValue()).toBe('called the user')
    await page.getByRole('button', { name: 'Save notes' }).click()
    await page.getByText('You are no longer signed in').waitFor()
    await signIn(await signToken(api.key, { sub: 'bob', scope: 'fraud:analyst', exp: Math.max(Date.now(), START) + 3_600_000 }))
    await page.getByRole('heading', { name: 'EUR 1,249.90' }).waitFor()
    expect(await page.getByLabel('Notes on the case').inputValue()).toBe('')
  })

  test('the second click of a double click does not undo what the first click did', async () => {
    const { page, fakes } = await opened({ hash: '#case/90071992547409931' })
    const doubleClick = async (before: string, after: string) => {
      const { x, y, width, height } = (await page.getByRole('button', { name: before }).boundingBox())!
      await page.mouse.click(x + width / 2, y + height / 2)
      await page.getByRole('button', { name: after }).waitFor()
      await page.mouse.down({ clickCount: 2 })
      await page.mouse.up({ clickCount: 2 })
    }
    await doubleClick('Assign to me', 'Release')
    await page.goto('/fraud#rules')
    await doubleClick('Go live: night', 'To shadow: night')
    // If the page sent further changes, it would do so before it sends this one.
    await page.getByRole('button', { name: 'Disable: night' }).click()
    await expect.poll(() => fakes.changes.at(-1)?.line).toBe('DELETE rules/night')
    expect(fakes.changes.map(({ line }) => line)).toEqual(['PATCH cases/90071992547409931', 'PUT rules/night', 'DELETE rules/night'])
  })

  test('an error message is visible even if the page is scrolled to its end', async () => {
    const { page, fakes } = await opened({ hash: '#case/90071992547409931' })
    fakes.replaced.set('PATCH cases/90071992547409931', refusal(503, 'unavailable'))
    await page.getByLabel('Notes on the case').fill('called the user')
    await page.evaluate(() => scrollTo(0, document.body.scrollHeight))
    await page.getByRole('button', { name: 'Save notes' }).click()
    await page.getByRole('alert').filter({ hasText: 'try again' }).waitFor()
    const isOnTop = () => {
      const { left, top } = document.getElementById('problem')!.getBoundingClientRect()
      return document.elementFromPoint(left + 20, top + 20)?.id
    }
    expect(await page.evaluate(isOnTop)).toBe('problem')
  })

  test.each([400, 1280])('the desk fits a screen that is %i pixels wide, and follows dark mode', async (width) => {
    const { page } = await opened({ viewport: { width, height: 800 } })
    const fits = async () => expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
    await page.locator('.entry').first().waitFor()
    await fits()
    await page.locator('.entry').nth(1).click()
    await page.locator('#places svg').waitFor()
    await fits()
    expect(await page.isVisible('#queue')).toBe(width > 1_000)
    await page.getByRole('link', { name: 'Rules' }).click()
    await page.locator('#rule-rows a').first().click()
    await page.locator('#condition').waitFor()
    await fits()
    await page.getByRole('link', { name: 'Models' }).click()
    await page.locator('.plot').first().waitFor()
    await fits()
    const light = await background(page)
    await page.emulateMedia({ colorScheme: 'dark' })
    expect(await background(page)).not.toBe(light)
  })
})
