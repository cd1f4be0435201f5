import { expect, test } from 'vitest'
import { openBacktest } from '../../../../api/fraud/backtest/open.ts'
import { fraudErrors } from '../../../../api/fraud/errors.ts'
import { createCommands } from '../../../../api/kit/commands/commands.ts'
import { ApiError, errors } from '../../../../api/kit/errors.ts'
import { createLogger } from '../../../../api/kit/logging.ts'
import { fraudSettingsTopology } from '../../../../pipelines/fraud/settings/topology.ts'
import { DEFAULT_POLICY } from '../../../../schemas/fraud/decision/policy.ts'
import { compileRuleSet } from '../../../../schemas/fraud/rules/rule-set.ts'
import { NO_SNOOZES } from '../../../../schemas/fraud/rules/snoozes.ts'
import type { ViewScripts } from '../../../../state/views/view.ts'
import { DAY } from '../../../schemas/fraud/payments.ts'
import { decidedWorld } from '../../kit/commands/decided-world.ts'
import { START, testApp } from '../../kit/harness.ts'

/**
 * Creates the back-test API. When a job is stored for the first time, the reply from Redis is lost, although the job is
 * stored and another process has already started it.
 */
async function backtestApi() {
  const clock = { now: START }
  const now = () => clock.now
  const { redis, facts, bindings, channel } = decidedWorld({ topology: fraudSettingsTopology, commands: [], views: [], startAt: START })
  const states = new Map<string, unknown>()
  const scripts: ViewScripts = {
    async run({ name }, [job], args) {
      if (name === 'read-backtest') return [states.get(job) ?? null, 1]
      if (states.has(job)) return ['known']
      states.set(job, JSON.stringify({ ...JSON.parse(args[1] as string), started_at: 0 }))
      throw new ApiError(errors.unavailable)
    },
  }
  const rules = { version: 0, rules: [] }
  const settings = { rules, ruleSet: compileRuleSet(0, []), lists: new Map(), snoozes: NO_SNOOZES, policy: DEFAULT_POLICY }
  const { routes } = openBacktest({
    scripts,
    views: redis.reader,
    commands: createCommands({ facts, reader: redis.reader, bindings, channel, now }),
    state: {} as Parameters<typeof openBacktest>[0]['state'],
    log: createLogger('silent'),
    now,
    settings,
  })
  const service = { name: 'fraud', description: '', isUserId: () => true, probes: [], routes, errors: Object.values(fraudErrors) }
  const { app, bearer } = await testApp({ services: [service] })
  async function start(key: string, body: object) {
    const headers = { 'content-type': 'application/json', 'idempotency-key': key, ...(await bearer({ sub: 'olga', scope: 'fraud:ops' })) }
    const response = await app.request('/api/v1/rules/backtest', { method: 'POST', headers, body: JSON.stringify(body) })
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }
  return { clock, start, states }
}

test('a repeated request gets its job, even if a new request for the same period would now be refused', async () => {
  const { clock, start, states } = await backtestApi()
  const period = { from: new Date(START - 30 * DAY).toISOString(), to: new Date(START).toISOString() }
  expect((await start('k', period)).status).toBe(503)
  clock.now += 2 * DAY
  expect((await start('other', period)).status).toBe(400)
  const [job] = states.keys()
  expect(await start('k', period)).toMatchObject({ status: 202, body: { job_id: job.split(':').at(-1) } })
})

test('a request with an unknown field is refused, because it would otherwise test the rules in force by mistake', async () => {
  const { start } = await backtestApi()
  const period = { from: new Date(START - DAY).toISOString(), to: new Date(START).toISOString() }
  expect(await start('k', { ...period, rule_set_version: 1 })).toMatchObject({
    status: 400,
    body: { error: 'invalid_request', details: [{ path: 'body', message: expect.stringContaining('rule_set_version') }] },
  })
})
