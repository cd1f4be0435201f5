import type { Route } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { HOSTILE, refusal } from './fraud-desk-fakes.ts'
import { useDesk } from './fraud-desk-page.ts'

describe('the rules on the desk of fraud scoring in Chromium, with a fake API behind the real sign-in', () => {
  const opened = useDesk()

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

  test('the button to go live puts the current version of a rule into force, even if somebody has changed the rule since the list was read', async () => {
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

  test('if a request for the state of a back-test fails, the page asks again until the back-test is done', async () => {
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
    // The rule is in shadow mode. It is tested as if it were live, because it would otherwise change no decision.
    expect(await page.locator('#rule-mode').inputValue()).toBe('shadow')
    expect(start.body).toMatchObject({ rule: { rule_id: 'night', condition: 'txn.amount > 100', mode: 'live' }, sample: 100_000 })
    expect(await page.textContent('#backtest-report')).toContain('0.28 % would be blocked')
    expect(await page.getByRole('row', { name: /approve → review/ }).textContent()).toContain(HOSTILE)
    await page.locator('a.example').first().click()
    await page.getByRole('heading', { name: 'EUR 1,249.90' }).waitFor()
    expect(complaints.join('\n')).toBe('')
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

  test('if the server does not accept a value, the message names the field, without its path in the request', async () => {
    const { page, fakes } = await opened({ hash: '#rule/night' })
    await page.getByRole('heading', { name: 'Rule night' }).waitFor()
    const details = [{ path: 'body.entity_value', message: 'must be an IP address' }]
    fakes.replaced.set('POST rules/night/snoozes', refusal(400, 'invalid_request', details))
    await page.locator('#snooze-value').fill('office')
    await page.getByRole('button', { name: 'Snooze', exact: true }).click()
    await page.getByRole('alert').filter({ hasText: 'entity value must be an IP address' }).waitFor()
    expect(await page.textContent('#problem')).toBe('The server did not accept this: entity value must be an IP address.')
  })

  test('an earlier version of the rules is restored only when the button is pressed a second time', async () => {
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

  test('the page says so if a rule does not exist', async () => {
    const { page, complaints } = await opened({ hash: '#rule/nothing' })
    await page.getByRole('alert').filter({ hasText: 'There is no such rule.' }).waitFor()
    expect(complaints.join('\n')).toBe('')
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
})
