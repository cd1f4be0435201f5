import type { Rule } from '../../../schemas/fraud/rules/rule.ts'
import { readRuleHours } from '../../../state/tables/fraud/rule-tallies.ts'
import { jsonAnswer } from '../../kit/answer.ts'
import { ApiError } from '../../kit/errors.ts'
import { PRIVATE } from '../../kit/headers.ts'
import { bind } from '../../kit/route.ts'
import type { ServiceKit } from '../../service.ts'
import { fraudErrors } from '../errors.ts'
import type { SettingsInForce } from '../in-force.ts'
import type { FraudPart } from '../part.ts'
import type { ScoringObserver } from './activity.ts'
import { blockGuard } from './guard.ts'
import { STATS_MS, statsJson } from './model.ts'
import { ruleRecorder } from './recorder.ts'
import { ruleStatsRoute } from './routes.ts'

export interface RuleStatsDeps extends Pick<ServiceKit, 'facts' | 'tables' | 'scripts' | 'metrics' | 'log' | 'now'> {
  readonly settings: Pick<SettingsInForce, 'ruleSet'> & {
    /** All rules, including those that are not evaluated. */
    readonly rules: { readonly rules: readonly Rule[] }
  }
  /** Puts a rule into shadow mode. If undefined, the guard only raises the alert. */
  readonly moveToShadow: ((rule: Rule) => Promise<void>) | undefined
}

/**
 * Interval between publications. While Kafka responds, a count can be read after at most two intervals plus the delay
 * of the sink.
 */
const TICK_MS = 5_000
/** How long a stopping process waits for Kafka to accept the last records. */
const CLOSE_MS = 2_000
const HOUR_MS = 3_600_000

/**
 * Counts the evaluations of rules in this process, reports the counts of all processes, and watches the share of
 * blocked transactions.
 */
export function openRuleStats(deps: RuleStatsDeps): FraudPart & { readonly observer: ScoringObserver } {
  const { facts, tables, scripts, metrics, log, now, settings, moveToShadow } = deps
  const { registry } = metrics
  const recorder = ruleRecorder({ facts, registry, log, now })
  const guard = blockGuard({ scripts, registry, log, now, ruleSet: () => settings.ruleSet, moveToShadow })
  const timer = setInterval(() => {
    recorder.tick()
    void guard.tick()
  }, TICK_MS)

  return {
    observer: {
      scored(activity) {
        recorder.scored(activity)
        guard.scored(activity)
      },
    },
    probes: [guard.probe],
    routes: [
      bind(ruleStatsRoute, async ({ params: { rule_id } }) => {
        const until = now()
        const since = Math.floor((until - STATS_MS) / HOUR_MS) * HOUR_MS
        const hours = await readRuleHours(tables, rule_id, since)
        const isKnown = hours.length > 0 || settings.rules.rules.some((rule) => rule.rule_id === rule_id)
        if (!isKnown) throw new ApiError(fraudErrors.rule_not_found)
        return jsonAnswer(200, statsJson(rule_id, hours, since, until), PRIVATE)
      }),
    ],
    async close() {
      clearInterval(timer)
      await recorder.close(CLOSE_MS)
    },
  }
}
