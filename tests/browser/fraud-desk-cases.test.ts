import type { Route } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { HOSTILE, refusal } from './fraud-desk-fakes.ts'
import { useDesk } from './fraud-desk-page.ts'

describe('the cases on the desk of fraud scoring in Chromium, with a fake API behind the real sign-in', () => {
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
    // In a text field, these keys type characters and give no verdict.
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

  test('the Enter key is enough to confirm a verdict, and a verdict that the server refuses is not shown as recorded', async () => {
    const { page, fakes } = await opened({ hash: '#case/90071992547409931' })
    await page.getByRole('heading', { name: 'EUR 1,249.90' }).waitFor()
    const body = { error: 'unavailable', message: 'Try again with the command_id as Idempotency-Key.', command_id: 'c-1' }
    fakes.replaced.set('POST transactions/t-1/feedback', { status: 503, body })
    await page.keyboard.press('p')
    await page.keyboard.press('Enter')
    const advice = 'The service is not available at the moment. Your change may still take effect. Wait 5 s and try again.'
    await page.getByRole('alert').filter({ hasText: advice }).waitFor()
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
    // The page now shows this verdict, so the analyst can correct it.
    expect(await page.getByLabel('Notes (a correction needs a reason)').inputValue()).toBe('stolen')
    await page.getByRole('button', { name: 'Confirm' }).click()
    await page.getByText('Recorded as confirmed fraud.').waitFor()
    expect(found).toMatchObject({ verdict: 'CONFIRMED_FRAUD' })
  })

  test('a case shows factors, places, timeline and features, and HTML in the data is shown as text', async () => {
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
    await page.locator('#timeline').getByText("The user's other transactions are not available.").waitFor()
    await page.keyboard.press('s')
    await page.keyboard.press('Enter')
    await page.getByText('Recorded as suspicious.').waitFor()
    expect(fakes.changes.map(({ body }) => body.verdict)).toEqual(['SUSPICIOUS'])
  })

  test('the queue has no more pages than the API can list, even if there are more cases', async () => {
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
    await page.getByRole('alert').filter({ hasText: 'The service is not available at the moment. Wait 5 s and try again.' }).waitFor()
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

  test('the timeline shows an assignment and saved notes at once', async () => {
    const { page } = await opened({ hash: '#case/90071992547409931' })
    await page.getByRole('button', { name: 'Assign to me' }).click()
    await page.locator('#timeline').getByText('Case changed, in review by ann, assigned to ann').waitFor()
    await page.getByLabel('Notes on the case').fill('Called the user.')
    await page.getByRole('button', { name: 'Save notes' }).click()
    await page.locator('#timeline').getByText('Called the user.').waitFor()
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

  test('if an analyst makes a second change while the first is being sent, both are saved, without a message about somebody else', async () => {
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

  test('if the current page of the queue no longer exists because cases were closed, the last page is shown', async () => {
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

  test('after a verdict on a transaction without a case, the page shows its new case, so that a correction asks for its reason', async () => {
    const { page, fakes } = await opened({ hash: '#transaction/t-4' })
    await page.locator('#case-head').getByText('Transaction t-4').waitFor()
    expect(await page.isVisible('#case-notes')).toBe(false)
    await page.keyboard.press('f')
    await page.keyboard.press('Enter')
    await page.locator('#case-head').getByText('Confirmed fraud').waitFor()
    expect(await page.getByRole('button', { name: 'Fraud', exact: true }).getAttribute('aria-pressed')).toBe('true')
    expect([await page.isVisible('#case-notes'), await page.isVisible('#undo')]).toEqual([true, true])
    await page.keyboard.press('p')
    await page.getByText('(a correction needs a reason)').waitFor()
    await page.getByLabel('Notes (').fill('Wrong key')
    await page.keyboard.press('Enter')
    await page.locator('#case-head').getByText('False positive').waitFor()
    expect(fakes.changes.map(({ body }) => [body.verdict, body.version])).toEqual([
      ['CONFIRMED_FRAUD', undefined],
      ['FALSE_POSITIVE', 2],
    ])
  })

  test('notes that are not saved yet appear when a verdict on the transaction opens its case', async () => {
    const { page } = await opened({ hash: '#case/90071992547409931' })
    await page.getByLabel('Notes on the case').fill('called the user')
    await page.evaluate(() => {
      location.hash = '#transaction/t-1'
    })
    await page.locator('#case-notes').waitFor({ state: 'hidden' })
    await page.locator('#case-head').getByText('Transaction t-1').waitFor()
    await page.keyboard.press('f')
    await page.keyboard.press('Enter')
    await page.locator('#case-head').getByText('Confirmed fraud').waitFor()
    expect(await page.getByLabel('Notes on the case').inputValue()).toBe('called the user')
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

  test('the probability of each model fits on one line, even if it is very small', async () => {
    const { page, fakes } = await opened()
    const asked = page.waitForRequest(/\/transactions\/t-1$/)
    await page.locator('.entry').first().click()
    const read = fakes.answer(await asked).body as { answer: object }
    const ml_scores = { payment_fraud: 0.25, account_takeover: 0.000485, money_laundering: 0.0000131, evaluated: true }
    fakes.replaced.set('GET transactions/t-1', { body: { ...read, answer: { ...read.answer, ml_scores } } })
    await page.reload()
    await page.locator('#why').getByText('0.00131 %').waitFor()
    const heights = await page.locator('#why .value').evaluateAll((values) => values.map((value) => value.getBoundingClientRect().height))
    expect(new Set(heights).size, heights.join()).toBe(1)
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
})
