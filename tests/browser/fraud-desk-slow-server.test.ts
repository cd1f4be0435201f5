import type { Page, Route } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { START, signToken } from '../api/kit/harness.ts'
import { refusal } from './fraud-desk-fakes.ts'
import { useDesk } from './fraud-desk-page.ts'

async function saveNotes(page: Page, notes: string) {
  await page.getByLabel('Notes on the case').fill(notes)
  await page.getByRole('button', { name: 'Save notes' }).click()
}

describe('the desk of fraud scoring while servers are slow or unreachable, with a fake API behind the real sign-in', () => {
  const opened = useDesk()

  test('a case can be judged before the other transactions of its user arrive', async () => {
    const { page, fakes } = await opened()
    const waiting: Route[] = []
    await page.route(/\/api\/v1\/transactions\?/, (route) => void waiting.push(route))
    await page.locator('.entry').first().click()
    await page.getByRole('heading', { name: 'EUR 1,249.90' }).waitFor()
    const timeline = page.locator('#timeline')
    await timeline.getByText("The user's other transactions are being read.").waitFor()
    await page.keyboard.press('s')
    await page.keyboard.press('Enter')
    await page.getByText('Recorded as suspicious.').waitFor()
    expect(fakes.changes.map(({ body }) => body.verdict)).toEqual(['SUSPICIOUS'])
    for (const route of waiting) await route.fallback()
    await timeline.locator('a').first().waitFor()
    expect(await timeline.textContent()).not.toContain('being read')
  })

  test('if reading the other transactions of a user fails, the page says so, and keeps those that it has read before', async () => {
    const { page, fakes } = await opened({ hash: '#case/90071992547409931' })
    const timeline = page.locator('#timeline')
    await timeline.locator('a').first().waitFor()
    fakes.replaced.set('GET transactions', refusal(500, 'internal_error'))
    await page.keyboard.press('s')
    await page.keyboard.press('Enter')
    const failure = page.getByRole('alert').filter({ hasText: 'A message of the API.' })
    await failure.waitFor()
    expect(await timeline.locator('a').count()).toBe(3)
    await page.keyboard.press('j')
    await page.getByRole('heading', { name: 'EUR 624.95' }).waitFor()
    await timeline.getByText("The user's other transactions are not available.").waitFor()
    await failure.waitFor()
  })

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

  test('the message that a verdict was not recorded stays until the analyst dismisses it or the verdict is recorded', async () => {
    const { page } = await opened({ hash: '#case/90071992547409931' })
    const read = async (index: number, title: string) => {
      await page.evaluate((hash) => location.assign(hash), `#case/9007199254740993${index}`)
      await page.getByRole('heading', { name: title }).waitFor()
    }
    await read(1, 'EUR 1,249.90')
    const waiting: Route[] = []
    await page.route('**/api/v1/transactions/t-1/feedback', (route) => void waiting.push(route))
    const message = page.getByRole('alert').filter({ hasText: 'The verdict on transaction t-1 was not recorded.' })
    const lose = async (others: string[]) => {
      await page.keyboard.press('p')
      await page.keyboard.press('Enter')
      await read(2, 'EUR 624.95')
      for (const key of others) await page.keyboard.press(key)
      await waiting.shift()?.abort()
    }
    await lose(['f', 'Enter'])
    await page.getByText('Recorded as confirmed fraud.').waitFor()
    await read(1, 'EUR 1,249.90')
    await message.waitFor()
    await message.getByRole('button', { name: 'Dismiss' }).click()
    expect(await message.count()).toBe(0)
    await lose([])
    await message.waitFor()
    await read(1, 'EUR 1,249.90')
    await page.keyboard.press('p')
    await page.keyboard.press('Enter')
    await expect.poll(() => waiting.length).toBe(1)
    await waiting[0].fallback()
    await page.getByText('Recorded as false positive.').waitFor()
    expect(await message.count()).toBe(0)
  })

  test('a case can be judged, corrected and assigned even if it cannot be read again in between', async () => {
    const { page, fakes } = await opened({ hash: '#case/90071992547409931' })
    await page.getByRole('heading', { name: 'EUR 1,249.90' }).waitFor()
    await page.route('**/api/v1/cases/90071992547409931', (route) =>
      route.request().method() === 'GET' ? route.abort() : route.fallback(),
    )
    await page.keyboard.press('p')
    await page.keyboard.press('Enter')
    await page.getByText('Recorded as false positive.').waitFor()
    await page.getByRole('button', { name: 'Assign to me' }).click()
    await expect.poll(() => fakes.cases[0]).toMatchObject({ assigned_to: 'ann', status: 'FALSE_POSITIVE' })
    await page.keyboard.press('f')
    await page.getByLabel('Notes (').fill('a reason')
    await page.keyboard.press('Enter')
    await page.getByText('Recorded as confirmed fraud.').waitFor()
    await page.keyboard.press('u')
    await page.getByText('Corrected: the verdict is now false positive.').waitFor()
    await page.getByRole('button', { name: 'Release' }).click()
    await expect.poll(() => fakes.cases[0]).toMatchObject({ assigned_to: null, status: 'FALSE_POSITIVE' })
  })

  test('a case that is opened again before its notes are saved can be judged afterwards', async () => {
    const { page, fakes } = await opened({ hash: '#case/90071992547409931' })
    const read = async (index: number, title: string) => {
      await page.evaluate((hash) => location.assign(hash), `#case/9007199254740993${index}`)
      await page.getByRole('heading', { name: title }).waitFor()
    }
    await read(1, 'EUR 1,249.90')
    const waiting: Route[] = []
    await page.route('**/api/v1/cases/90071992547409931', (route) =>
      route.request().method() === 'PATCH' && waiting.length === 0 ? void waiting.push(route) : route.fallback(),
    )
    await page.getByLabel('Notes on the case').fill('called the user')
    await page.getByRole('button', { name: 'Save notes' }).click()
    await read(2, 'EUR 624.95')
    await read(1, 'EUR 1,249.90')
    await page.getByRole('button', { name: 'Assign to me' }).click()
    await waiting[0].fallback()
    await expect.poll(() => fakes.cases[0]).toMatchObject({ notes: 'called the user', assigned_to: 'ann' })
    await page.getByRole('button', { name: 'Release' }).waitFor()
    await page.locator('#false-positive').click()
    await page.keyboard.press('Enter')
    await page.getByText('Recorded as false positive.').waitFor()
  })

  test('a verdict and an assignment that wait for notes are recorded, even if the analyst has left the case', async () => {
    const { page, fakes } = await opened({ hash: '#case/90071992547409931' })
    await page.getByRole('heading', { name: 'EUR 1,249.90' }).waitFor()
    const waiting: Route[] = []
    await page.route('**/api/v1/cases/90071992547409931', (route) =>
      route.request().method() === 'PATCH' && waiting.length === 0 ? void waiting.push(route) : route.fallback(),
    )
    await page.getByLabel('Notes on the case').fill('called the user')
    await page.getByRole('button', { name: 'Save notes' }).click()
    await expect.poll(() => waiting.length).toBe(1)
    await page.locator('#false-positive').click()
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Assign to me' }).click()
    await page.locator('#case').focus()
    await page.keyboard.press('j')
    await page.getByRole('heading', { name: 'EUR 624.95' }).waitFor()
    await waiting[0].fallback()
    await expect
      .poll(() => fakes.cases[0])
      .toMatchObject({ notes: 'called the user', verdict: 'FALSE_POSITIVE', status: 'FALSE_POSITIVE', assigned_to: 'ann', version: 4 })
    expect(await page.getByRole('alert').allTextContents()).toEqual([])
  })

  test.each([
    ['Assign to me', (page: Page) => page.getByRole('button', { name: 'Assign to me' }).click()],
    ['Save notes', (page: Page) => saveNotes(page, 'called the user')],
  ])('a verdict that waits for “%s” does not replace a verdict that another analyst has given in the meantime', async (_, change) => {
    const { page, fakes } = await opened({ hash: '#case/90071992547409931' })
    await page.getByRole('heading', { name: 'EUR 1,249.90' }).waitFor()
    const waiting: Route[] = []
    await page.route('**/api/v1/cases/90071992547409931', (route) =>
      route.request().method() === 'PATCH' ? void waiting.push(route) : route.fallback(),
    )
    await change(page)
    await expect.poll(() => waiting.length).toBe(1)
    await page.locator('#false-positive').click()
    await page.keyboard.press('Enter')
    await page.getByText('The verdict is being sent.').waitFor()
    fakes.correctAsBob(fakes.cases[0], 'CONFIRMED_FRAUD')
    await waiting[0].fallback()
    await page.getByText('Verdict confirmed fraud by bob').waitFor()
    await expect.poll(() => fakes.changes.map(({ line }) => line)).toContain('POST transactions/t-1/feedback')
    await expect.poll(() => page.textContent('#verdict-news')).toBe('')
    await page.getByText('Somebody else has changed this').waitFor()
    expect(fakes.cases[0]).toMatchObject({ verdict: 'CONFIRMED_FRAUD', assigned_to: null, notes: '', version: 2 })
  })

  test('a verdict that waits for an earlier one is not sent in the session of the next user', async () => {
    const { page, fakes, api } = await opened({ hash: '#case/90071992547409931' })
    await page.getByRole('heading', { name: 'EUR 1,249.90' }).waitFor()
    const waiting: Route[] = []
    await page.route('**/api/v1/transactions/t-1/feedback', (route) => void waiting.push(route))
    await page.keyboard.press('p')
    await page.keyboard.press('Enter')
    await page.keyboard.press('j')
    await page.getByRole('heading', { name: 'EUR 624.95' }).waitFor()
    await page.getByLabel('Notes on the case').fill('called the user')
    await page.getByRole('button', { name: 'Save notes' }).click()
    await page.locator('#fraud').click()
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'Sign out and lose the unsaved changes?' }).click()
    const exp = Math.max(Date.now(), START) + 3_600_000
    await page.getByLabel('Token').fill(await signToken(api.key, { sub: 'bob', scope: 'fraud:analyst', exp }))
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    await waiting[0].abort()
    for (const lost of ['The verdict on transaction t-2 was not recorded.', 'The notes on the case of transaction t-2 were not saved.'])
      await page.getByRole('alert').filter({ hasText: lost }).waitFor()
    expect(fakes.changes).toEqual([])
  })

  test('the browser asks before it leaves the page while a verdict is being sent', async () => {
    const { page } = await opened({ hash: '#case/90071992547409931' })
    await page.getByRole('heading', { name: 'EUR 1,249.90' }).waitFor()
    const waiting: Route[] = []
    await page.route('**/api/v1/transactions/t-1/feedback', (route) => void waiting.push(route))
    const isAsked = () => page.evaluate(() => !dispatchEvent(new Event('beforeunload', { cancelable: true })))
    expect(await isAsked()).toBe(false)
    await page.keyboard.press('p')
    await page.keyboard.press('Enter')
    await expect.poll(() => waiting.length).toBe(1)
    expect(await isAsked()).toBe(true)
    await waiting[0].fallback()
    await page.getByText('Recorded as false positive.').waitFor()
    expect(await isAsked()).toBe(false)
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

  test('a change that the user repeats after a failure has the same Idempotency-Key, but a later equal change has a new one', async () => {
    const { page, fakes } = await opened({ hash: '#rule/night' })
    await page.getByText('The rule has no snoozes.').waitFor()
    const snooze = async () => {
      await page.getByLabel('Value').fill('u1')
      await page.getByRole('button', { name: 'Snooze', exact: true }).click()
    }
    const end = () => page.getByRole('button', { name: 'End the snooze of u1' }).first().click()
    const keys = (line: string) => fakes.changes.filter((change) => change.line === line).map(({ key }) => key)
    const [post, remove] = ['POST rules/night/snoozes', 'DELETE rules/night/snoozes/s-1']
    fakes.replaced.set(post, refusal(503, 'unavailable'))
    await snooze()
    await page.getByRole('alert').filter({ hasText: 'try again' }).waitFor()
    fakes.replaced.clear()
    await snooze()
    await page.getByRole('row', { name: 'u1' }).waitFor()
    fakes.replaced.set(remove, refusal(503, 'unavailable'))
    await end()
    await page.getByRole('alert').filter({ hasText: 'try again' }).waitFor()
    fakes.replaced.clear()
    await end()
    await page.getByText('The rule has no snoozes.').waitFor()
    await snooze()
    await page.getByRole('row', { name: 'u1' }).waitFor()
    await end()
    await page.getByText('The rule has no snoozes.').waitFor()
    const [first, second, third] = keys(post)
    expect([second, third === first]).toEqual([first, false])
    const [ended, again, later] = keys(remove)
    expect([again, later === ended]).toEqual([ended, false])
    expect(ended).toMatch(/^[0-9a-f]{32}$/)
  })

  test('a repeated change has a new Idempotency-Key if something else was changed in the meantime', async () => {
    const { page, fakes } = await opened({ hash: '#rule/night' })
    await page.getByText('The rule has no snoozes.').waitFor()
    const snooze = async (value: string) => {
      await page.getByLabel('Value').fill(value)
      await page.getByRole('button', { name: 'Snooze', exact: true }).click()
    }
    fakes.replaced.set('POST rules/night/snoozes', refusal(503, 'unavailable'))
    await snooze('u1')
    await page.getByRole('alert').filter({ hasText: 'try again' }).waitFor()
    fakes.replaced.clear()
    await snooze('u2')
    await page.getByRole('row', { name: 'u2' }).waitFor()
    await snooze('u1')
    await page.getByRole('row', { name: 'u1' }).waitFor()
    expect(new Set(fakes.changes.map(({ key }) => key)).size).toBe(3)
  })

  test('the token stays in its field if the server could not be reached, but not if the server has refused it', async () => {
    const { page, token } = await opened()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Token').fill(token)
    await page.route('**/api/v1/session', (route) => route.abort(), { times: 1 })
    await page.keyboard.press('Enter')
    await page.getByRole('alert').filter({ hasText: 'The server cannot be reached.' }).waitFor()
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Token').fill('x.y.z')
    await page.keyboard.press('Enter')
    await page.getByText('this token is not valid').waitFor()
    expect(await page.getByLabel('Token').inputValue()).toBe('')
  })

  test('when the queue can be read again, only the message about the queue disappears', async () => {
    const { page, fakes } = await opened({ hash: '#case/90071992547409931' })
    await page.getByRole('heading', { name: 'EUR 1,249.90' }).waitFor()
    const readQueue = async (failure: ReturnType<typeof refusal> | undefined) => {
      if (failure === undefined) fakes.replaced.delete('GET cases')
      else fakes.replaced.set('GET cases', failure)
      const read = page.waitForResponse(/\/api\/v1\/cases\?/)
      await page.getByLabel('Assigned to').dispatchEvent('change')
      await (await read).finished()
    }
    await readQueue(refusal(503, 'unavailable'))
    await page.getByRole('alert').filter({ hasText: 'try again' }).waitFor()
    fakes.replaced.set('POST transactions/t-1/feedback', refusal(403, 'forbidden'))
    await page.keyboard.press('p')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').filter({ hasText: 'Your token does not allow this.' }).waitFor()
    await readQueue(undefined)
    await page.getByText('3 cases').waitFor()
    // When this further request is complete, the page has handled the answer.
    await page.evaluate(() => fetch('/fraud/style.css').then((answer) => answer.text()))
    expect(await page.textContent('#problem')).toBe('Your token does not allow this.')
    await readQueue(refusal(503, 'unavailable'))
    await page.getByRole('alert').filter({ hasText: 'try again' }).waitFor()
    await readQueue(undefined)
    await page.getByRole('alert').waitFor({ state: 'hidden' })
  })

  test('messages about a failed check of a condition or a failed read of the versions disappear when the next request succeeds or the condition is emptied', async () => {
    const { page, fakes } = await opened({ hash: '#rule/night' })
    const alert = page.getByRole('alert')
    await page.getByRole('heading', { name: 'Rule night' }).waitFor()
    const condition = page.getByLabel('Condition')
    fakes.replaced.set('POST rules/validate', refusal(503, 'unavailable'))
    await condition.fill('txn.amount > 1')
    await alert.filter({ hasText: 'try again' }).waitFor()
    fakes.replaced.clear()
    await condition.fill('txn.amount > 2')
    await alert.waitFor({ state: 'hidden' })
    fakes.replaced.set('POST rules/validate', refusal(503, 'unavailable'))
    await condition.fill('txn.amount > 3')
    await alert.filter({ hasText: 'try again' }).waitFor()
    await condition.fill('')
    await alert.waitFor({ state: 'hidden' })
    fakes.replaced.set('GET rules/versions', refusal(503, 'unavailable'))
    const versions = page.getByText('Versions of the rule set')
    await versions.click()
    await alert.filter({ hasText: 'try again' }).waitFor()
    fakes.replaced.clear()
    await versions.click()
    await versions.click()
    await page.getByRole('row', { name: 'in force' }).waitFor()
    await alert.waitFor({ state: 'hidden' })
  })

  test('the desk no longer says that a condition has an error, or that notes are saved, after these were edited', async () => {
    const { page } = await opened({ hash: '#rule/night' })
    await page.getByRole('heading', { name: 'Rule night' }).waitFor()
    await page.getByLabel('Condition').fill('txn.amount >')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('The condition has an error.').waitFor()
    await page.getByLabel('Condition').fill('txn.amount > 2')
    expect(await page.textContent('#rule-news')).toBe('')
    await page.evaluate(() => location.assign('#case/90071992547409931'))
    await page.getByLabel('Notes on the case').fill('called')
    await page.getByRole('button', { name: 'Save notes' }).click()
    await page.getByText('The notes are saved.').waitFor()
    await page.getByLabel('Notes on the case').fill('called twice')
    expect(await page.textContent('#notes-news')).toBe('')
  })

  test('the question about a new trial says that the current trial ends', async () => {
    const { page } = await opened({ hash: '#models' })
    await page.getByRole('button', { name: 'Try payment fraud 2026-03' }).click()
    await page
      .getByRole('button', { name: 'Try payment fraud 2026-03 on 5 %? This ends the current trial, and a new one of 7 days begins.' })
      .waitFor()
    await page.getByRole('button', { name: 'End the trial' }).click()
    await page.getByRole('button', { name: 'End the trial now?' }).click()
    await page.getByText('There is no challenger.').waitFor()
    await page.getByRole('button', { name: 'Try payment fraud 2026-03' }).click()
    await page.getByRole('button', { name: 'Try payment fraud 2026-03 on 5 %?', exact: true }).waitFor()
  })
})
