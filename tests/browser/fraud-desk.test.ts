import type { Route } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { START, signToken } from '../api/kit/harness.ts'
import { background } from './chromium.ts'
import { HOSTILE, refusal } from './fraud-desk-fakes.ts'
import { useDesk } from './fraud-desk-page.ts'

describe('the desk of fraud scoring in Chromium, with a fake API behind the real sign-in', () => {
  const opened = useDesk()

  test('an analyst gives a verdict by keyboard, confirms it, and then corrects it', async () => {
    const { page, complaints, fakes } = await opened()
    await page.locator('.entry').first().waitFor()
    await page.keyboard.press('j')
    await page.getByRole('heading', { name: 'EUR 1,249.90' }).waitFor()
    await page.keyboard.press('f')
    await page.keyboard.press('Escape')
    expect(await page.isVisible('#confirm')).toBe(false)
    expect(fakes.changes).toEqual([])
    await page.keyboard.press('f')
    await page.getByLabel('Kind of fraud').fill('stolen_card')
    // In a text field, the same keys are text and not shortcuts.
    await page.getByLabel('Notes (optional)').fill('psf')
    await page.keyboard.press('Enter')
    await page.getByText('Recorded as confirmed fraud.').waitFor()
    await page.getByText('Verdict confirmed fraud by ann').waitFor()
    await page.keyboard.press('u')
    await page.getByText('Corrected: the verdict is now suspicious.').waitFor()
    const [given, corrected] = fakes.changes
    expect(given.line).toBe('POST transactions/t-1/feedback')
    expect(given.body).toEqual({ verdict: 'CONFIRMED_FRAUD', fraud_type: 'stolen_card', notes: 'psf', version: 1 })
    expect(corrected.body).toEqual({ verdict: 'SUSPICIOUS', notes: 'Correction: confirmed fraud was given by mistake.', version: 2 })
    expect(given.csrf).toMatch(/^[\w-]{43}$/)
    expect(fakes.changes).toHaveLength(2)
    // The verdict has removed the case from the list of open cases, and the next key opens the first remaining case.
    await page.keyboard.press('j')
    await page.getByRole('heading', { name: 'EUR 624.95' }).waitFor()
    expect(await page.isVisible('#undo')).toBe(false)
    expect(complaints.join('\n')).toBe('')
  })

  test('Enter alone confirms, and a refused verdict is not shown as recorded', async () => {
    const { page, fakes } = await opened({ hash: '#case/90071992547409931' })
    await page.getByRole('heading', { name: 'EUR 1,249.90' }).waitFor()
    fakes.replaced.set('POST transactions/t-1/feedback', refusal(503, 'unavailable'))
    await page.keyboard.press('p')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').filter({ hasText: 'try again' }).waitFor()
    expect(await page.textContent('#verdict-news')).toBe('')
    fakes.replaced.clear()
    await page.keyboard.press('Enter')
    await page.getByText('Recorded as false positive.').waitFor()
    // A second verdict is a correction, and a correction needs a reason.
    await page.keyboard.press('f')
    await page.keyboard.press('Enter')
    expect(await page.getByLabel('Notes (a correction needs a reason)').evaluate((field) => field.matches(':invalid:focus'))).toBe(true)
    expect(fakes.changes.map(({ body }) => body.verdict)).toEqual(['FALSE_POSITIVE', 'FALSE_POSITIVE'])
  })

  test('undoing a verdict does not replace a later verdict of another analyst', async () => {
    const { page, fakes } = await opened({ hash: '#case/90071992547409931' })
    const [found] = fakes.cases
    await page.getByRole('heading', { name: 'EUR 1,249.90' }).waitFor()
    await page.keyboard.press('p')
    await page.keyboard.press('Enter')
    await page.getByText('Verdict false positive by ann').waitFor()
    fakes.correctAsBob(found, 'CONFIRMED_FRAUD')
    await page.keyboard.press('u')
    await page.getByText('Somebody else has changed this').waitFor()
    await page.getByText('Verdict confirmed fraud by bob').waitFor()
    expect(found).toMatchObject({ verdict: 'CONFIRMED_FRAUD', version: 3 })
    expect(await page.isVisible('#undo')).toBe(false)
  })

  test('a verdict can be undone after the notes were saved, but not after another analyst has given the same verdict', async () => {
    const { page, fakes } = await opened({ hash: '#case/90071992547409931' })
    const [found] = fakes.cases
    const saveNotes = async (notes: string) => {
      await page.getByLabel('Notes on the case').fill(notes)
      await page.getByRole('button', { name: 'Save notes' }).click()
      await expect.poll(() => found).toMatchObject({ notes })
    }
    const give = async (key: string, verdict: string) => {
      await page.locator('#case').focus()
      await page.keyboard.press(key)
      await page.getByLabel('Notes (').fill('a reason')
      await page.keyboard.press('Enter')
      await page.getByText(`Recorded as ${verdict}.`).waitFor()
    }
    await page.getByRole('heading', { name: 'EUR 1,249.90' }).waitFor()
    await give('p', 'false positive')
    await saveNotes('called the user')
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('Corrected: the verdict is now suspicious.').waitFor()
    await give('f', 'confirmed fraud')
    fakes.correctAsBob(found, 'CONFIRMED_FRAUD')
    await page.getByRole('button', { name: 'Assign to me' }).click()
    await page.getByText('Verdict confirmed fraud by bob').waitFor()
    expect(await page.isVisible('#undo')).toBe(false)
    expect(found).toMatchObject({ verdict: 'CONFIRMED_FRAUD', assigned_to: null })
  })

  test('a verdict does not replace a verdict that another analyst has given since the page read the case', async () => {
    const { page, fakes } = await opened({ hash: '#case/90071992547409931' })
    const [found] = fakes.cases
    await page.getByRole('heading', { name: 'EUR 1,249.90' }).waitFor()
    fakes.correctAsBob(found, 'FALSE_POSITIVE')
    await page.keyboard.press('f')
    await page.getByLabel('Notes (optional)').fill('stolen')
    await page.keyboard.press('Enter')
    await page.getByText('Somebody else has changed this').waitFor()
    await page.getByText('Verdict false positive by bob').waitFor()
    expect(found).toMatchObject({ verdict: 'FALSE_POSITIVE' })
    // The analyst can now correct this verdict knowingly.
    expect(await page.getByLabel('Notes (a correction needs a reason)').inputValue()).toBe('stolen')
    await page.getByRole('button', { name: 'Confirm' }).click()
    await page.getByText('Recorded as confirmed fraud.').waitFor()
    expect(found).toMatchObject({ verdict: 'CONFIRMED_FRAUD' })
  })

  test('a case shows factors, places, timeline and features, and hostile text stays text', async () => {
    const { page, complaints, fakes } = await opened({ hash: '#case/90071992547409932' })
    await page.getByRole('heading', { name: 'EUR 624.95' }).waitFor()
    expect(await page.locator('#why .bars li').allTextContents()).toContain('geo distance km0.42')
    expect(await page.locator('#why a').first().textContent()).toBe(HOSTILE)
    expect(await page.locator('#user').textContent()).toContain('lifetime txn count118')
    expect(await page.locator('#places circle.visit').count()).toBe(2)
    expect(await page.locator('#places circle.own').count()).toBe(1)
    expect(await page.locator('.places').textContent()).toContain('6,385 km away')
    expect(await page.locator('#timeline').textContent()).toContain(HOSTILE)
    expect(await page.locator('.entry .who').nth(1).textContent()).toBe(HOSTILE)
    await page.getByText('All features').click()
    expect(await page.locator('#features').textContent()).toContain('device age daysmissing')
    await page.getByRole('button', { name: 'Assign to me' }).click()
    await page.getByRole('button', { name: 'Release' }).waitFor()
    await page.getByLabel('Notes on the case').fill(HOSTILE)
    await page.getByRole('button', { name: 'Save notes' }).click()
    await expect
      .poll(() => fakes.changes.map(({ body }) => body))
      .toEqual([
        { assigned_to: 'ann', status: 'IN_REVIEW', version: 1 },
        { notes: HOSTILE, version: 2 },
      ])
    expect(await page.locator('img').count()).toBe(0)
    expect(complaints.join('\n')).toBe('')
  })

  test('a case can be judged while its transaction and profile are unavailable', async () => {
    const { page, fakes } = await opened()
    for (const line of ['GET transactions/t-1', 'GET profiles/user/user-1']) fakes.replaced.set(line, refusal(503, 'unavailable'))
    fakes.replaced.set('GET transactions', refusal(422, 'query_too_large'))
    await page.locator('.entry').first().click()
    await page.getByText('The transaction is not available.').waitFor()
    await page.keyboard.press('s')
    await page.keyboard.press('Enter')
    await page.getByText('Recorded as suspicious.').waitFor()
    expect(fakes.changes.map(({ body }) => body.verdict)).toEqual(['SUSPICIOUS'])
  })

  test('the queue ends with the last page that the API lists', async () => {
    const { page, fakes } = await opened()
    await page.locator('.entry').first().waitFor()
    fakes.replaced.set('GET cases', { body: { cases: fakes.cases, page: 1, limit: 20, total: 30_000, complete: true } })
    await page.getByLabel('Status').selectOption('All')
    await page.getByText('30,000 cases').waitFor()
    expect(await page.textContent('#page-number')).toBe('1 of 500')
  })

  test('a case or transaction that could not be read is read again when the user repeats the click or the lookup', async () => {
    const { page, fakes } = await opened()
    fakes.replaced.set('GET cases/90071992547409931', refusal(503, 'unavailable'))
    await page.locator('.entry').first().click()
    await page.getByRole('alert').filter({ hasText: 'try again' }).waitFor()
    fakes.replaced.clear()
    await page.locator('.entry').first().click()
    await page.getByRole('heading', { name: 'EUR 1,249.90' }).waitFor()
    fakes.replaced.set('GET transactions/t-2', refusal(404, 'transaction_not_found'))
    await page.getByRole('textbox', { name: 'Transaction' }).fill('t-2')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').filter({ hasText: 'There is no such transaction' }).waitFor()
    fakes.replaced.clear()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'EUR 624.95' }).waitFor()
    await page.getByRole('alert').waitFor({ state: 'hidden' })
  })

  test('two quick presses of “Previous” on the second page lead to the first page', async () => {
    const { page, fakes } = await opened()
    await page.locator('.entry').first().waitFor()
    fakes.replaced.set('GET cases', { body: { cases: fakes.cases, page: 1, limit: 20, total: 50, complete: true } })
    await page.getByLabel('Status').selectOption('All')
    await page.getByText('50 cases').waitFor()
    await page.getByRole('button', { name: 'Next' }).click()
    await page.getByText('2 of 3').waitFor()
    const asked: (string | null)[] = []
    page.on('request', (request) => asked.push(new URL(request.url()).searchParams.get('page')))
    await page.getByRole('button', { name: 'Previous' }).dblclick()
    await page.getByText('1 of 3').waitFor()
    expect(asked).not.toContain('0')
  })

  test('while a request for the queue has no answer, the page sends no second request for it, and if the request fails, the page says so', async () => {
    const { page } = await opened()
    await page.locator('.entry').first().waitFor()
    const unanswered: Route[] = []
    await page.route('**/api/v1/cases?*', (route) => void unanswered.push(route))
    await page.getByRole('link', { name: 'Rules', exact: true }).click()
    await page.getByText('rules, version 7').waitFor()
    // Lets the test decide when the queue is read again, and when a request times out.
    await page.evaluate(() => {
      const limits: AbortController[] = []
      AbortSignal.timeout = () => {
        limits.push(new AbortController())
        return limits[limits.length - 1].signal
      }
      addEventListener('over', () => limits[0].abort())
      Object.assign(window, { setInterval: (tick: () => void) => void addEventListener('tick', tick) })
    })
    await page.getByRole('link', { name: 'Cases', exact: true }).click()
    await expect.poll(() => unanswered.length).toBe(1)
    await page.evaluate(() => {
      for (const name of ['tick', 'tick', 'over']) dispatchEvent(new Event(name))
    })
    await page.getByRole('alert').filter({ hasText: 'The server cannot be reached.' }).waitFor()
    expect(unanswered).toHaveLength(1)
    await page.evaluate(() => dispatchEvent(new Event('tick')))
    await expect.poll(() => unanswered.length).toBe(2)
  })

  test('notes that are not saved yet stay when the case is assigned, and another case has its own notes', async () => {
    const { page, fakes } = await opened({ hash: '#case/90071992547409931' })
    await page.getByLabel('Notes on the case').fill('called the user')
    await page.getByRole('button', { name: 'Assign to me' }).click()
    await page.getByRole('button', { name: 'Release' }).waitFor()
    expect(await page.getByLabel('Notes on the case').inputValue()).toBe('called the user')
    await page.getByRole('button', { name: 'Save notes' }).click()
    await expect.poll(() => fakes.changes.at(-1)?.body).toEqual({ notes: 'called the user', version: 2 })
    await page.evaluate(() => {
      location.hash = '#case/90071992547409932'
    })
    await page.getByRole('heading', { name: 'EUR 624.95' }).waitFor()
    expect(await page.getByLabel('Notes on the case').inputValue()).toBe('')
  })

  test('an analyst does not take a case that somebody else has taken or escalated since the page read it', async () => {
    const { page, fakes } = await opened({ hash: '#case/90071992547409931' })
    await page.getByRole('button', { name: 'Assign to me' }).waitFor()
    Object.assign(fakes.cases[0], { assigned_to: 'bob', status: 'ESCALATED', version: 2 })
    await page.getByRole('button', { name: 'Assign to me' }).click()
    await page.getByText('Somebody else has changed this').waitFor()
    await page.locator('#case-head').getByText('bob').waitFor()
    expect(fakes.cases[0]).toMatchObject({ assigned_to: 'bob', status: 'ESCALATED' })
    await page.getByRole('button', { name: 'Assign to me' }).click()
    await page.getByRole('button', { name: 'Release' }).waitFor()
    expect(fakes.cases[0]).toMatchObject({ assigned_to: 'ann', status: 'ESCALATED' })
  })

  test('a second change by an analyst does not count as a change by somebody else', async () => {
    const { page, fakes } = await opened({ hash: '#case/90071992547409931' })
    await page.getByRole('button', { name: 'Assign to me' }).waitFor()
    const gate = Promise.withResolvers<void>()
    await page.route(/\/api\/v1\/cases\//, async (route) => {
      if (route.request().method() === 'PATCH') await gate.promise
      await route.fallback()
    })
    await page.getByLabel('Notes on the case').fill('seen before')
    await page.getByRole('button', { name: 'Save notes' }).click()
    await page.getByRole('button', { name: 'Assign to me' }).click()
    gate.resolve()
    await page.getByRole('button', { name: 'Release' }).waitFor()
    expect(fakes.cases[0]).toMatchObject({ assigned_to: 'ann', notes: 'seen before', version: 3 })
    expect(await page.getByRole('alert').filter({ hasText: 'Somebody else' }).count()).toBe(0)
  })

  test('if closed cases leave the list, the queue returns to its last page', async () => {
    const { page, fakes } = await opened()
    await page.locator('.entry').first().waitFor()
    fakes.replaced.set('GET cases', { body: { cases: fakes.cases, page: 1, limit: 20, total: 23, complete: true } })
    await page.getByLabel('Status').selectOption('All')
    await page.getByText('23 cases').waitFor()
    await page.getByRole('button', { name: 'Next' }).click()
    await expect.poll(() => page.textContent('#page-number')).toBe('2 of 2')
    const asked: (string | null)[] = []
    page.on('request', (request) => asked.push(new URL(request.url()).searchParams.get('page')))
    fakes.replaced.set('GET cases', { body: { cases: [], page: 2, limit: 20, total: 3, complete: true } })
    await page.locator('.entry').first().click()
    await page.getByRole('heading', { name: 'EUR 1,249.90' }).waitFor()
    await page.keyboard.press('p')
    await page.keyboard.press('Enter')
    await expect.poll(() => asked.filter((one) => one !== null)).toEqual(['2', '1'])
  })

  test('the queue is filtered, and a transaction without a case can be looked up', async () => {
    const { page } = await opened()
    await page.locator('.entry').first().waitFor()
    await page.getByLabel('Status').selectOption('Confirmed fraud')
    await page.getByText('0 cases with this status').waitFor()
    await page.getByLabel('Status').selectOption('All')
    await page.getByText('3 cases').waitFor()
    await page.getByLabel('Assigned to').selectOption('Me')
    await page.getByText('0 cases').waitFor()
    await page.getByRole('textbox', { name: 'Transaction' }).fill('nothing')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').filter({ hasText: 'There is no such transaction' }).waitFor()
    await page.getByRole('textbox', { name: 'Transaction' }).fill('t-3')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'EUR 416.63' }).waitFor()
    await page.getByText('Scored without: models.').waitFor()
    expect([await page.isVisible('#case-notes'), await page.isVisible('#features-part')]).toEqual([false, false])
  })

  test('the editor underlines the faulty text, suggests the nearest name, and saves', async () => {
    const { page, complaints, fakes } = await opened({ hash: '#rules' })
    await page.getByRole('button', { name: 'New rule' }).click()
    await page.getByLabel('Id', { exact: true }).fill('big')
    await page.getByLabel('Name').fill('Big payments')
    await page.getByLabel('Condition').fill('txn.currency = "USD"\n  AND txn.amonut > 100')
    await page.getByRole('button', { name: 'line 2, column 7' }).waitFor()
    expect(await page.locator('#condition-marks mark').allTextContents()).toEqual(['txn.amonut'])
    expect(await page.getByLabel('Condition').getAttribute('aria-invalid')).toBe('true')
    // The underline is exactly under the faulty text.
    const marked = await page.locator('#condition-marks').evaluate((marks) => marks.textContent)
    expect(marked).toBe('txn.currency = "USD"\n  AND txn.amonut > 100\n')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('The condition has an error.').waitFor()
    expect(await page.locator('#condition').evaluate((field: HTMLTextAreaElement) => [field.selectionStart, field.selectionEnd])).toEqual([
      27, 37,
    ])
    await page.getByRole('button', { name: 'Use txn.amount' }).click()
    await expect.poll(() => page.locator('#condition-marks mark').count()).toBe(0)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved.').waitFor()
    const saved = fakes.changes.at(-1)!
    expect([saved.line, saved.body.condition, saved.body.mode]).toEqual([
      'POST rules',
      'txn.currency = "USD"\n  AND txn.amount > 100',
      'shadow',
    ])
    await page.getByRole('button', { name: 'Go live: big' }).click()
    await page.getByRole('button', { name: 'To shadow: big' }).waitFor()
    await page.getByRole('button', { name: 'Disable: big' }).click()
    await expect.poll(() => page.getByRole('button', { name: 'Disable: big' }).count()).toBe(0)
    await page.getByLabel('Include disabled and expired rules').check()
    await page.getByRole('button', { name: 'Enable: big' }).click()
    await page.getByRole('button', { name: 'Disable: big' }).waitFor()
    expect(fakes.changes.slice(-3).map(({ line }) => line)).toEqual(['PUT rules/big', 'DELETE rules/big', 'PUT rules/big'])
    // Chromium reports the refusal as a failed load.
    expect(complaints.filter((text) => !text.startsWith('Failed to load resource')).join('\n')).toBe('')
  })

  test('a suggested value keeps its quotes, and several suggestions can be used one after another', async () => {
    const { page } = await opened({ hash: '#rules' })
    await page.getByRole('button', { name: 'New rule' }).click()
    await page.getByLabel('Condition').fill('txn.amout > 1 AND payer.country = "de" AND user.risk_tier = \'high\'')
    for (const name of ['txn.amount', 'DE', 'HIGH']) await page.getByRole('button', { name: `Use ${name}` }).click()
    const text = 'txn.amount > 1 AND payer.country = "DE" AND user.risk_tier = \'HIGH\''
    expect(await page.getByLabel('Condition').inputValue()).toBe(text)
    await expect.poll(() => page.locator('#faults li').count()).toBe(0)
  })

  test("the page puts the server's version of a rule into force, even if somebody has changed the rule since the list was read", async () => {
    const { page, fakes } = await opened({ hash: '#rules' })
    await page.getByRole('button', { name: 'Go live: night' }).waitFor()
    Object.assign(fakes.rules.find(({ rule_id }) => rule_id === 'night')!, { condition: 'txn.amount > 5000', priority: 7 })
    await page.getByRole('button', { name: 'Go live: night' }).click()
    await page.getByRole('button', { name: 'To shadow: night' }).waitFor()
    expect(fakes.changes).toMatchObject([
      { line: 'PUT rules/night', body: { condition: 'txn.amount > 5000', priority: 7, mode: 'live', enabled: true } },
    ])
  })

  test('saving a rule does not change the seconds of its expiry time', async () => {
    const { page, fakes } = await opened()
    await page.locator('.entry').first().waitFor()
    const expires_at = '2030-01-31T12:00:45.000Z'
    Object.assign(fakes.rules.find(({ rule_id }) => rule_id === 'night')!, { expires_at })
    await page.evaluate(() => {
      location.hash = '#rule/night'
    })
    await page.getByRole('heading', { name: 'Rule night' }).waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved.').waitFor()
    await page.getByLabel('Expires').fill('')
    await page.getByRole('button', { name: 'Save' }).click()
    await expect.poll(() => fakes.changes.map(({ body }) => body.expires_at)).toEqual([expires_at, null])
  })

  test('the editor does not overwrite a change by another analyst', async () => {
    const { page, fakes } = await opened({ hash: '#rule/night' })
    await page.getByRole('heading', { name: 'Rule night' }).waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved.').waitFor()
    Object.assign(fakes.rules.find(({ rule_id }) => rule_id === 'night')!, { priority: 7, updated_at: '2026-01-01T00:00:00.000Z' })
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('alert').filter({ hasText: 'Somebody else has changed' }).waitFor()
    expect(fakes.rules.find(({ rule_id }) => rule_id === 'night')).toMatchObject({ priority: 7 })
  })

  test('a rule that was closed while it was being saved can be opened again', async () => {
    const { page } = await opened({ hash: '#rule/night' })
    await page.getByRole('heading', { name: 'Rule night' }).waitFor()
    const { promise: later, resolve: arrive } = Promise.withResolvers<void>()
    await page.route('**/api/v1/rules/night', async (route) => {
      await later
      await route.fallback()
    })
    await page.getByRole('button', { name: 'Save' }).click()
    await page.locator('#close-rule').click()
    await expect.poll(() => page.isVisible('#rule-form')).toBe(false)
    const listed = page.waitForResponse(/\/api\/v1\/rules$/)
    arrive()
    await listed
    await page.getByRole('link', { name: 'night' }).click()
    await page.getByRole('heading', { name: 'Rule night' }).waitFor()
    expect(await page.textContent('#rule-news')).toBe('')
  })

  test('a failed request for the state of a back-test does not end the back-test on the page', async () => {
    const { page, fakes } = await opened({ hash: '#rule/night' })
    await page.getByRole('heading', { name: 'Rule night' }).waitFor()
    const poll = 'GET rules/backtest/j-1'
    fakes.replaced.set(poll, refusal(503, 'unavailable'))
    const refused = page.waitForResponse(/\/backtest\/j-1$/)
    await page.getByRole('button', { name: 'Start' }).click()
    await refused
    fakes.replaced.delete(poll)
    await page.getByText('The back-test is done.').waitFor()
  })

  test('a back-test runs until its report appears, and the examples in the report link to transactions', async () => {
    const { page, complaints, fakes } = await opened({ hash: '#rule/night' })
    await page.getByRole('heading', { name: 'Rule night' }).waitFor()
    await page.getByRole('button', { name: 'Start' }).click()
    await page.getByText('The back-test is done.').waitFor()
    const start = fakes.changes.find(({ line }) => line === 'POST rules/backtest')!
    expect(start.body).toMatchObject({ rule: { rule_id: 'night', condition: 'txn.amount > 100' }, sample: 100_000 })
    expect(await page.textContent('#backtest-report')).toContain('0.28 % would be blocked')
    expect(await page.getByRole('row', { name: /approve → review/ }).textContent()).toContain(HOSTILE)
    await page.locator('a.example').first().click()
    await page.getByRole('heading', { name: 'EUR 1,249.90' }).waitFor()
    expect(complaints.join('\n')).toBe('')
  })

  test('models that could not be read are read again when the user clicks the same link', async () => {
    const { page, fakes } = await opened()
    fakes.replaced.set('GET models', refusal(503, 'unavailable'))
    await page.getByRole('link', { name: 'Models', exact: true }).click()
    await page.getByRole('alert').filter({ hasText: 'try again' }).waitFor()
    fakes.replaced.clear()
    await page.getByRole('link', { name: 'Models', exact: true }).click()
    await page.getByText('Models in force').waitFor()
    await page.getByRole('alert').waitFor({ state: 'hidden' })
  })

  test('if the statistics and snoozes of a rule could not be read, they are read again when the user clicks the same link', async () => {
    const { page, fakes } = await opened({ hash: '#rules' })
    for (const part of ['stats', 'snoozes']) fakes.replaced.set(`GET rules/night/${part}`, refusal(503, 'unavailable'))
    await page.getByRole('link', { name: 'night' }).click()
    await page.getByRole('alert').filter({ hasText: 'try again' }).waitFor()
    fakes.replaced.clear()
    await page.getByRole('link', { name: 'night' }).click()
    await page.getByText('The rule has no snoozes.').waitFor()
    await page.getByRole('row', { name: 'evaluated' }).waitFor()
    await page.getByRole('alert').waitFor({ state: 'hidden' })
  })

  test('a late answer does not replace a newer list of rules', async () => {
    const { page } = await opened({ hash: '#rules' })
    await page.getByText('2 of 2 rules').waitFor()
    const late: Route[] = []
    await page.route('**/api/v1/rules?all=true', (route) => void late.push(route), { times: 1 })
    await page.getByLabel('Include disabled and expired rules').check()
    await expect.poll(() => late.length).toBe(1)
    const newer = page.waitForResponse(/\/api\/v1\/rules$/)
    await page.getByLabel('Include disabled and expired rules').uncheck()
    await newer
    const older = page.waitForResponse(/\/api\/v1\/rules\?all=true$/)
    await late[0].fallback()
    await (await older).finished()
    // When this further request is complete, the page has handled the late answer.
    await page.evaluate(() => fetch('/fraud/style.css').then((answer) => answer.text()))
    expect(await page.textContent('#rules-summary')).toContain('2 of 2 rules')
  })

  test('a back-test of another rule starts while the page still waits for the state of the first back-test', async () => {
    const { page, fakes } = await opened({ hash: '#rule/night' })
    await page.getByRole('heading', { name: 'Rule night' }).waitFor()
    const waiting: Route[] = []
    await page.route('**/api/v1/rules/backtest/j-1', (route) => void waiting.push(route), { times: 1 })
    await page.getByRole('button', { name: 'Start' }).click()
    await expect.poll(() => waiting.length).toBe(1)
    // Until this back-test has ended, the form starts no second back-test of the same rule.
    await page.getByRole('button', { name: 'Start' }).click()
    await page.getByRole('link', { name: 'seed-impossible-travel' }).click()
    await page.getByRole('heading', { name: 'Rule seed-impossible-travel' }).waitFor()
    await page.getByRole('button', { name: 'Start' }).click()
    await page.getByText('The back-test is done.').waitFor()
    const started = fakes.changes.filter(({ line }) => line === 'POST rules/backtest').map(({ body }) => body.rule)
    expect(started).toMatchObject([{ rule_id: 'night' }, { rule_id: 'seed-impossible-travel' }])
  })

  test('the page of the models plots the data of their reports', async () => {
    const { page, complaints } = await opened({ hash: '#models' })
    await expect
      .poll(() => page.locator('.plot figcaption').allTextContents())
      .toEqual(['ROC', 'Precision and recall', 'Calibration', 'Drift'])
    expect(await page.locator('.plot .line').first().getAttribute('points')).toMatch(/^(-?[\d.]+,-?[\d.]+ ?){21}$/)
    expect(await page.locator('.plot .bar.warn').count()).toBe(1)
    expect(complaints.join('\n')).toBe('')
  })

  test('the page of a rule shows what the rule did, or why it never matched', async () => {
    const { page, complaints } = await opened({ hash: '#rule/seed-impossible-travel' })
    expect(await page.getByRole('row', { name: 'evaluated' }).textContent()).toBe('evaluated3,0001,000')
    expect(await page.getByRole('row', { name: 'payer.account_age_days' }).textContent()).toBe('payer.account_age_days701.75 %')
    expect(await page.locator('#rule-counts').textContent()).toContain(HOSTILE)
    expect(await page.locator('#rule-counts .problem').count()).toBe(0)
    await page.getByRole('link', { name: 'night' }).click()
    await page.getByText('values that it reads were missing in every evaluation').waitFor()
    expect(await page.getByRole('row', { name: 'txn.age' }).textContent()).toBe('txn.age40100 %')
    await page.getByRole('button', { name: 'New rule' }).click()
    expect(await page.isVisible('#rule-stats')).toBe(false)
    expect(await page.isVisible('#snooze-form')).toBe(false)
    expect(complaints.join('\n')).toBe('')
  })

  test('a rule is snoozed for an entity, and the snooze is ended', async () => {
    const { page, complaints, fakes } = await opened({ hash: '#rule/night' })
    await page.getByText('The rule has no snoozes.').waitFor()
    await page.getByLabel('Entity').selectOption('Device')
    await page.getByLabel('Value').fill(HOSTILE)
    await page.getByLabel('Hours').fill('3')
    await page.getByRole('button', { name: 'Snooze', exact: true }).click()
    await page.getByRole('row', { name: HOSTILE }).getByRole('button').click()
    await page.getByText('The rule has no snoozes.').waitFor()
    expect(fakes.changes.map(({ line, body }) => [line, body])).toEqual([
      ['POST rules/night/snoozes', { entity_type: 'DEVICE', entity_value: HOSTILE, hours: 3 }],
      ['DELETE rules/night/snoozes/s-1', {}],
    ])
    expect(complaints.join('\n')).toBe('')
  })

  test('an earlier version of the rules is restored when the button is pressed a second time', async () => {
    const { page, complaints, fakes } = await opened({ hash: '#rules' })
    await page.getByText('Versions of the rule set').click()
    await page.getByRole('row', { name: 'in force' }).waitFor()
    const row = page.getByRole('row', { name: HOSTILE })
    await row.getByRole('button', { name: 'Restore 6' }).click()
    // Moving the focus to another element cancels the confirmation.
    await page.getByLabel('Find', { exact: true }).focus()
    await row.getByRole('button', { name: 'Restore 6' }).click()
    expect(fakes.changes).toEqual([])
    await row.getByRole('button', { name: 'Replace all rules with version 6?' }).click()
    await page.getByText('Version 8 has the rules of version 6').waitFor()
    await page.getByRole('button', { name: 'Disable: night' }).click()
    await expect.poll(() => page.textContent('#version-news')).toBe('')
    expect(fakes.changes.map(({ line, body }) => [line, body])).toEqual([
      ['POST rules/rollback', { version: 6 }],
      ['DELETE rules/night', {}],
    ])
    expect(complaints.join('\n')).toBe('')
  })

  test('a challenger can be promoted or tried out, and a refusal shows its reason', async () => {
    const { page, fakes } = await opened({ hash: '#models' })
    const press = async (label: string, question: string) => {
      await page.getByRole('button', { name: label }).click()
      await page.getByRole('button', { name: question }).click()
    }
    await press('Promote the challenger', 'Let the challenger decide from now on?')
    await page.getByText('The models have been changed.').waitFor()
    expect(await page.getByRole('row', { name: 'payment fraud' }).textContent()).toContain('2026-02–generated data')
    fakes.replaced.set('GET models', refusal(503, 'unavailable'))
    await press('Try payment fraud 2026-01', 'Try payment fraud 2026-01 on 5 %?')
    await page.getByRole('alert').filter({ hasText: 'try again' }).waitFor()
    expect(await page.textContent('#model-news')).toContain('The models have been changed.')
    fakes.replaced.clear()
    await page.getByRole('link', { name: 'Models', exact: true }).click()
    await page.getByText('It can be promoted from').waitFor()
    await page.getByRole('alert').waitFor({ state: 'hidden' })
    await press('Try payment fraud 2026-03', 'Try payment fraud 2026-03 on 5 %?')
    await page.getByText('The models have been changed.').waitFor()
    expect(await page.getByRole('button', { name: 'Promote the challenger' }).count()).toBe(0)
    await press('Promote early', 'Let the challenger decide before its trial is over? Only administrators may do this.')
    await page.getByText('There is no challenger.').waitFor()
    await press('Try payment fraud 2026-03', 'Try payment fraud 2026-03 on 5 %?')
    await press('End the trial', 'End the trial now?')
    await page.getByText('There is no challenger.').waitFor()
    await press('Roll back', 'Restore the previous champion?')
    await page.getByRole('alert').filter({ hasText: 'There are no earlier models that could be restored.' }).waitFor()
    expect(await page.textContent('#model-news')).toBe('')
    expect(fakes.changes.map(({ line, body }) => [line, body])).toEqual([
      ['POST models/promote', {}],
      ['POST models/challenger', { versions: { payment_fraud: '2026-01' } }],
      ['POST models/challenger', { versions: { payment_fraud: '2026-03' } }],
      ['POST models/promote', { force: true }],
      ['POST models/challenger', { versions: { payment_fraud: '2026-03' } }],
      ['POST models/challenger', { versions: null }],
      ['POST models/rollback', {}],
    ])
  })

  test('the page says so if a rule does not exist', async () => {
    const { page, complaints } = await opened({ hash: '#rule/nothing' })
    await page.getByRole('alert').filter({ hasText: 'There is no such rule.' }).waitFor()
    expect(complaints.join('\n')).toBe('')
  })

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

  test('a held Enter key opens the question about a verdict, but does not confirm the verdict', async () => {
    const { page, fakes } = await opened({ hash: '#case/90071992547409931' })
    await page.getByRole('heading', { name: 'EUR 1,249.90' }).waitFor()
    await page.getByRole('button', { name: 'Fraud', exact: true }).focus()
    for (const _ of [1, 2, 3]) await page.keyboard.down('Enter')
    await page.keyboard.up('Enter')
    // If the page sent the verdict, it would do so before it sends this request.
    await page.evaluate(() => fetch('/fraud/style.css').then((answer) => answer.text()))
    expect(fakes.changes).toEqual([])
    expect(await page.textContent('#confirm-question')).toBe('Confirm that this is fraud?')
    await page.keyboard.press('Enter')
    await page.getByText('Recorded as confirmed fraud.').waitFor()
  })

  test('neither a double click nor a held Enter key restores rules without the question', async () => {
    const { page, fakes } = await opened({ hash: '#rules' })
    await page.getByText('Versions of the rule set').click()
    await page.getByRole('button', { name: 'Restore 6' }).dblclick()
    await page.getByRole('button', { name: 'Replace all rules with version 6?' }).waitFor()
    await page.getByRole('button', { name: 'Restore 5' }).focus()
    for (const _ of [1, 2, 3]) await page.keyboard.down('Enter')
    await page.keyboard.up('Enter')
    await page.getByRole('button', { name: 'Replace all rules with version 5?' }).waitFor()
    expect(fakes.changes).toEqual([])
    await page.keyboard.press('Enter')
    await expect.poll(() => fakes.changes.map(({ body }) => body)).toEqual([{ version: 5 }])
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

  test('a rule that somebody else has changed can be saved after it was closed and opened again', async () => {
    const { page, fakes } = await opened({ hash: '#rule/night' })
    await page.getByRole('heading', { name: 'Rule night' }).waitFor()
    const night = fakes.rules.find(({ rule_id }) => rule_id === 'night')!
    Object.assign(night, { priority: 7, updated_at: '2026-01-01T00:00:00.000Z' })
    await page.getByLabel('Name').fill('Payments at night')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Check its current state before you try again.').waitFor()
    expect(await page.getByLabel('Name').inputValue()).toBe('Payments at night')
    await page.locator('#close-rule').click()
    await page.getByRole('link', { name: 'night' }).click()
    await page.getByRole('heading', { name: 'Rule night' }).waitFor()
    await expect.poll(() => page.getByLabel('Priority').inputValue()).toBe('7')
    await page.getByLabel('Name').fill('Payments at night')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved.').waitFor()
    expect(night).toMatchObject({ name: 'Payments at night', priority: 7 })
  })

  test('a late answer does not replace a newer state of the case', async () => {
    const { page, fakes } = await opened({ hash: '#case/90071992547409931' })
    await page.getByRole('heading', { name: 'EUR 1,249.90' }).waitFor()
    const late: { route: Route; body: string }[] = []
    await page.route(
      '**/api/v1/cases/90071992547409931',
      async (route) => void late.push({ route, body: JSON.stringify(fakes.answer(route.request()).body) }),
      { times: 1 },
    )
    await page.keyboard.press('p')
    await page.keyboard.press('Enter')
    await expect.poll(() => late.length).toBe(1)
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.locator('#case-head').getByText('Escalated').waitFor()
    const read = page.waitForResponse(/\/api\/v1\/profiles\//)
    await late[0].route.fulfill({ headers: { 'content-type': 'application/json' }, body: late[0].body })
    await (await read).finished()
    // When this further request is complete, the page has handled the late answer.
    await page.evaluate(() => fetch('/fraud/style.css').then((answer) => answer.text()))
    expect(await page.locator('#case-head').textContent()).toContain('Escalated')
    expect(await page.getByRole('button', { name: 'Suspicious' }).getAttribute('aria-pressed')).toBe('true')
  })

  test('notes are saved even while the notes of another case are still being saved, and the page says that they are saved', async () => {
    const { page, fakes } = await opened({ hash: '#case/90071992547409931' })
    const save = async (notes: string) => {
      await page.getByLabel('Notes on the case').fill(notes)
      await page.getByRole('button', { name: 'Save notes' }).click()
    }
    await page.getByRole('heading', { name: 'EUR 1,249.90' }).waitFor()
    const waiting: Route[] = []
    await page.route('**/api/v1/cases/90071992547409931', (route) => void waiting.push(route), { times: 1 })
    await save('first')
    await expect.poll(() => waiting.length).toBe(1)
    await page.goto('/fraud#case/90071992547409932')
    await page.getByRole('heading', { name: 'EUR 624.95' }).waitFor()
    await save('second')
    await waiting[0].fallback()
    await expect.poll(() => fakes.cases.map(({ notes }) => notes)).toEqual(['first', 'second', ''])
    await page.getByText('The notes are saved.').waitFor()
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

  test('a time with a year of more than four digits cannot be entered', async () => {
    const { page } = await opened({ hash: '#rule/night' })
    await page.getByRole('heading', { name: 'Rule night' }).waitFor()
    for (const id of ['rule-expires', 'from', 'to']) {
      await page.evaluate((one) => {
        const field = document.getElementById(one) as HTMLInputElement
        field.value = '20267-01-01T00:00'
      }, id)
      expect(await page.locator(`#${id}`).evaluate((field: HTMLInputElement) => field.validity.valid)).toBe(false)
    }
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('button', { name: 'Start' }).click()
    expect(await page.getByText('The page failed').count()).toBe(0)
  })

  test('small numbers are not shown as zero', async () => {
    const { page, fakes } = await opened()
    const asked = page.waitForRequest(/\/transactions\/t-1$/)
    await page.locator('.entry').first().click()
    const read = fakes.answer(await asked).body as { features: object }
    const features = { ...read.features, merchant_fraud_rate_30d: 0.0042, amount_zscore: -0.001, user_amount_sum_1h: 123_456.789 }
    fakes.replaced.set('GET transactions/t-1', { body: { ...read, features } })
    await page.reload()
    await page.getByText('All features').click()
    const text = await page.locator('#features').textContent()
    for (const shown of ['merchant fraud rate 30d0.0042', 'amount zscore-0.001', 'user amount sum 1h123,456.79']) {
      expect(text).toContain(shown)
    }
  })

  test('the summary of the queue is not announced again while it stays the same', async () => {
    const { page } = await opened()
    await page.getByText('3 cases').waitFor()
    await page.evaluate(() => {
      const announced: string[] = []
      Object.assign(window, { announced })
      const summary = document.getElementById('queue-summary')!
      new MutationObserver(() => announced.push(summary.textContent ?? '')).observe(summary, {
        childList: true,
        characterData: true,
        subtree: true,
      })
    })
    const again = page.waitForResponse(/\/api\/v1\/cases\?/)
    await page.getByLabel('Assigned to').dispatchEvent('change')
    await (await again).finished()
    await page.getByLabel('Status').selectOption('All')
    await page.getByText('3 cases', { exact: true }).waitFor()
    expect(await page.evaluate(() => Object.getOwnPropertyDescriptor(window, 'announced')!.value)).toEqual(['3 cases'])
  })

  test.each([400, 1280])('fits a screen that is %i pixels wide, and follows dark mode', async (width) => {
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
