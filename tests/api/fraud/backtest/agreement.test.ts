import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Replay } from '../../../../api/fraud/backtest/report.ts'
import { DEFAULT_POLICY } from '../../../../schemas/fraud/decision/policy.ts'
import type { Rule } from '../../../../schemas/fraud/rules/rule.ts'
import { compileRuleSet } from '../../../../schemas/fraud/rules/rule-set.ts'
import { snoozesOf } from '../../../../schemas/fraud/rules/snoozes.ts'
import type { TxnScored } from '../../../../schemas/fraud/types.ts'
import { FEATURE_NAMES, fraudFeaturesTable, scoredOf } from '../../../../state/tables/fraud/features.ts'
import { TEST_LISTS } from '../../../schemas/fraud/rules/conditions.ts'
import { scoreLive, worlds } from './worlds.ts'

const RUNS = 400

/** Converts an event to a table row, to JSON and back, as if a query of the table had returned it. */
function fromTable(event: TxnScored): TxnScored {
  const [row] = JSON.parse(JSON.stringify(fraudFeaturesTable.rowsOf(event.request.payer.user_id, event)))
  return scoredOf([row.scored, ...FEATURE_NAMES.map((name) => row[name])])
}

test('the back-test of the rules in force agrees with the live decision on every transaction', () => {
  const seen = { winners: 0, blocklisted: 0, snoozed: 0, shadow: 0, defaults: 0, models: 0 }
  fc.assert(
    fc.property(worlds, ({ rules, snoozes, transactions }) => {
      const basis = { ruleSet: compileRuleSet(1, rules), lists: TEST_LISTS, snoozes: snoozesOf(snoozes), policy: DEFAULT_POLICY }
      const replay = new Replay(basis)
      for (const [index, transaction] of transactions.entries()) {
        const live = scoreLive({ rules, snoozes }, index, transaction)
        const again = replay.add({ ...fromTable(live.logged), verdict: transaction.verdict })
        expect(again.verdict).toEqual(live.verdict)
        expect(idsOf(again.outcome)).toEqual(idsOf(live.outcome))
        seen.winners += Number(live.outcome?.winner !== undefined)
        seen.blocklisted += Number(live.outcome === undefined)
        seen.snoozed += live.outcome?.snoozed.length ?? 0
        seen.shadow += live.outcome?.shadow.length ?? 0
        seen.defaults += Number(live.verdict.reason === 'default_profile')
        seen.models += Number(live.verdict.reason === 'models')
      }
      expect(replay.result()).toMatchObject({ transactions: transactions.length, changed: 0, changes: [], changed_3ds: { count: 0 } })
    }),
    { numRuns: RUNS },
  )
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(0)
})

function idsOf(outcome: ReturnType<typeof scoreLive>['outcome']) {
  if (outcome === undefined) return undefined
  const ids = (matched: readonly Rule[]) => matched.map(({ rule_id }) => rule_id)
  return [outcome.winner?.rule_id, ids(outcome.matched), ids(outcome.shadow), ids(outcome.snoozed)]
}
