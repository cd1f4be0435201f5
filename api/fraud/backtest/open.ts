import type { Rule } from '../../../schemas/fraud/rules/rule.ts'
import { readRuleSetVersion } from '../../../state/views/fraud/rule-sets.ts'
import { type Answer, jsonAnswer } from '../../kit/answer.ts'
import { ApiError, invalidRequest } from '../../kit/errors.ts'
import { PRIVATE } from '../../kit/headers.ts'
import { caughtUp } from '../../kit/readiness.ts'
import { bind } from '../../kit/route.ts'
import type { ServiceKit } from '../../service.ts'
import { fraudErrors } from '../errors.ts'
import type { SettingsInForce } from '../in-force.ts'
import type { FraudPart } from '../part.ts'
import { backtestJobs } from './jobs.ts'
import { type BacktestReport, type BacktestRequest, jobJson } from './model.ts'
import { startReplay } from './process/start.ts'
import { readBacktestRoute, startBacktestRoute } from './routes.ts'
import { type TestedRules, testedRules } from './tested-rules.ts'

export interface BacktestDeps extends Pick<ServiceKit, 'scripts' | 'views' | 'commands' | 'state' | 'log' | 'now'> {
  readonly settings: Pick<SettingsInForce, 'ruleSet' | 'lists' | 'snoozes' | 'policy'> & {
    readonly rules: { readonly version: number; readonly rules: readonly Rule[] }
  }
}

const DAY_MS = 86_400_000
/**
 * Maximum age of the beginning of a period. Features are kept for 30 days. One more day is allowed, so that a period
 * that begins exactly 30 days ago is accepted even if the request takes a while to arrive.
 */
const MAX_AGE_MS = 31 * DAY_MS
const RETRY_AFTER_SECONDS = 30

/** Notes about the limitations of the comparison. Every report contains these notes. */
const NOTES = [
  'The back-test used the lists, snoozes and policy that were in force when it began, not those that were in force when the transactions were scored.',
  'The features, the model scores and the effect of the blocklist come from the log; they were not computed again.',
]

/** Creates the routes that test rules on logged transactions. Each test runs in a separate process. */
export function openBacktest({ scripts, views, commands, state, log, now, settings }: BacktestDeps): FraudPart {
  const jobs = backtestJobs({ scripts, log, now })

  function replayOf(request: BacktestRequest, { version, rules, lists: needed }: TestedRules) {
    const at = now()
    const { lists, snoozes, policy } = settings
    const query = { from: Date.parse(request.from), to: Date.parse(request.to), limit: request.sample }
    const order = { version: version ?? 0, rules, policy, query, clickhouse: state.clickhouse }
    const read = { lists: new Map([...lists].filter(([name]) => needed.has(name))), snoozes, order }
    const report = ({ result, available }: Awaited<ReturnType<typeof startReplay>['done']>) => ({
      from: new Date(query.from).toISOString(),
      to: new Date(query.to).toISOString(),
      available,
      ruleset_version: version,
      policy_version: policy.version,
      as_of: new Date(at).toISOString(),
      notes: NOTES,
      ...result,
    })
    return {
      run: (onProgress: Parameters<typeof startReplay>[1]) => startReplay(read, onProgress),
      report: report as (found: unknown) => BacktestReport,
    }
  }

  return {
    routes: [
      bind(startBacktestRoute, async (input) => {
        const { body } = input
        const { subject } = input.caller!
        const asked = ['startBacktest', body]
        // A repeated request gets the job of the first request, even if this process would now refuse the same request.
        if (await commands.isRepeated(input, asked)) {
          const { id } = await commands.open(input, asked)
          if ((await jobs.read(id)) !== undefined) return startedAnswer(id)
        }
        checkPeriod(body, now())
        const known = {
          current: settings.rules,
          ruleSet: settings.ruleSet,
          ofVersion: async (version: number) => caughtUp(await readRuleSetVersion(views, version)),
        }
        const tested = await testedRules(body, known, subject, now())
        const { id } = await commands.open(input, asked)
        const started = await jobs.start({ jobId: id, subject }, replayOf(body, tested))
        if (started.outcome === 'caller_busy') throw new ApiError(fraudErrors.backtest_running, { fields: { job_id: started.jobId } })
        if (started.outcome === 'full') throw new ApiError(fraudErrors.backtests_full, { retryAfter: RETRY_AFTER_SECONDS })
        return startedAnswer(id)
      }),
      bind(readBacktestRoute, async ({ params: { job_id } }) => {
        const found = await jobs.read(job_id)
        if (found === undefined) throw new ApiError(fraudErrors.backtest_not_found)
        return jsonAnswer(200, jobJson(job_id, found), PRIVATE)
      }),
    ],
    close: () => jobs.close(),
  }
}

function startedAnswer(job_id: string): Answer {
  return jsonAnswer(202, { job_id }, PRIVATE)
}

function checkPeriod({ from, to }: BacktestRequest, now: number): void {
  if (Date.parse(from) >= Date.parse(to)) throw invalidRequest('body.to', 'must be later than from')
  if (Date.parse(from) < now - MAX_AGE_MS)
    throw invalidRequest('body.from', 'must be within the last 30 days, because features are not kept for longer')
}
