import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { START } from '../kit/harness.ts'
import { recommendationsApi } from './harness.ts'

let api: Awaited<ReturnType<typeof recommendationsApi>>
beforeEach(async () => {
  api = await recommendationsApi()
  api.putModels({
    versions: [{ version: 'v1', sequence: 1, trained_at: START, learned_until: START, files: [], metrics: {} }],
    champion: 'v1',
    challenger: null,
    challenger_percent: 0,
    earlier: [''],
    changed_at: START,
  })
  api.state.runs = [['r1', [], 'IN_FORCE', '', 'v1', null, START, START, START, {}]]
})

const models = () => api.send('GET', '/internal/models', { user: 'ops', scope: 'internal' })

test('without ClickHouse, operators still see which models are kept and in force, and that the training runs are missing', async () => {
  expect((await models()).body).toMatchObject({ champion: 'v1', runs: [{ run_id: 'r1' }], degraded: [] })
  api.state.isClickHouseAway = true
  const { status, body } = await models()
  expect([status, body.champion, body.versions[0].version]).toEqual([200, 'v1', 'v1'])
  expect([body.runs, body.degraded]).toEqual([[], ['runs']])
})

test('the models and the page that explains lists do not wait longer than two seconds for a ClickHouse that hangs', async () => {
  api.state.isClickHouseHung = true
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const headers = await api.bearer({ sub: 'ops', scope: 'internal' })
  for (const path of ['/internal/models', '/recommendations/explain']) {
    let text: string | undefined
    Promise.resolve(api.app.request(path, { headers })).then(async (response) => {
      text = await response.text()
    })
    // The response arrives after the time limit of the query, and long before that of the whole request.
    await expect.poll(() => vi.getTimerCount()).toBe(2)
    await vi.advanceTimersByTimeAsync(2_000)
    await expect.poll(() => text).toMatch(/"degraded":\["runs"\]|The training runs cannot be read now\./)
  }
})
