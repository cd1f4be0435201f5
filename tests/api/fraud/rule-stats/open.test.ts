import { Registry } from 'prom-client'
import { expect, onTestFinished, test } from 'vitest'
import { fraudErrors } from '../../../../api/fraud/errors.ts'
import { openRuleStats } from '../../../../api/fraud/rule-stats/open.ts'
import { createLogger } from '../../../../api/kit/logging.ts'
import { compileRuleSet } from '../../../../schemas/fraud/rules/rule-set.ts'
import { SEEDED_RULES } from '../../../../schemas/fraud/rules/seeded.ts'
import { NOON } from '../../../schemas/fraud/payments.ts'

/** Opens the statistics on a table without counts. Returns a function that reads the statistics of a rule. */
function statisticsOf(rules: typeof SEEDED_RULES) {
  const part = openRuleStats({
    settings: { ruleSet: compileRuleSet(1, rules), rules: { rules } },
    tables: { query: async () => ({ json: async () => [] as never }) },
    facts: { openLog: () => Promise.reject(new Error('no Kafka here')) },
    scripts: { run: () => Promise.reject(new Error('no Redis here')) },
    metrics: { registry: new Registry() },
    log: createLogger('silent'),
    now: () => NOON,
    moveToShadow: undefined,
  } as unknown as Parameters<typeof openRuleStats>[0])
  onTestFinished(() => part.close?.() as Promise<void>)
  const [{ handler }] = part.routes
  return (rule_id: string) => handler({ params: { rule_id } } as unknown as Parameters<typeof handler>[0])
}

test('a rule without counts has empty statistics, even if it is disabled or cannot be compiled', async () => {
  const [first] = SEEDED_RULES
  const rules = [
    { ...first, rule_id: 'live' },
    { ...first, rule_id: 'off', enabled: false },
    { ...first, rule_id: 'broken', condition: 'txn.amonut > 1' },
  ]
  const statistics = statisticsOf(rules)
  for (const { rule_id } of rules) {
    const { status, body } = await statistics(rule_id)
    expect([status, JSON.parse(body as string)]).toMatchObject([200, { rule_id, live: { evaluated: 0 }, hourly: [] }])
  }
  await expect(statistics('unknown')).rejects.toMatchObject({ definition: fraudErrors.rule_not_found })
})
