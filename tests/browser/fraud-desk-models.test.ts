import { describe, expect, test } from 'vitest'
import { refusal } from './fraud-desk-fakes.ts'
import { useDesk } from './fraud-desk-page.ts'

describe('the models on the desk of fraud scoring in Chromium, with a fake API behind the real sign-in', () => {
  const opened = useDesk()

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

  test('the page of the models plots the data of the model report', async () => {
    const { page, complaints } = await opened({ hash: '#models' })
    await expect
      .poll(() => page.locator('.plot figcaption').allTextContents())
      .toEqual(['ROC', 'Precision and recall', 'Calibration', 'Drift'])
    expect(await page.locator('.plot .line').first().getAttribute('points')).toMatch(/^(-?[\d.]+,-?[\d.]+ ?){21}$/)
    expect(await page.locator('.plot .bar.warn').count()).toBe(1)
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
})
