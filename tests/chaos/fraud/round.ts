import type { FraudSystem } from '../../api/fraud/system.ts'
import { type Judged, judgeUntilRight } from '../judge.ts'
import { keepLines, numbered } from '../keep-logs.ts'
import { ready, recover } from '../recover.ts'
import { drive } from './drive.ts'
import type { Evidence } from './evidence.ts'
import { faultHands } from './faults.ts'
import { inTime, type Limits, timesOf } from './in-time.ts'
import { observer } from './observe.ts'
import type { Plan } from './plan.ts'
import { RULE_ID } from './requests.ts'
import { faultsOf } from './verdict.ts'

export interface RoundResult extends Judged<Evidence> {
  readonly summary: string
}

export interface Round {
  readonly plan: Plan
  /** The prefix of the plan's ids. */
  readonly prefix: string
  /** If undefined, a slow response is an error only if it exceeds the client's time limit. */
  readonly limits?: Limits
  /** Maximum number of planned requests in progress. Default: no limit. */
  readonly mostInProgress?: number
}

/** Runs one round, waits until all parts have recovered, and judges the round. */
export async function playRound(
  system: FraudSystem,
  { plan, prefix, limits, mostInProgress = Number.POSITIVE_INFINITY }: Round,
  say: (text: string) => void,
): Promise<RoundResult> {
  await createRule(system)
  const hands = faultHands(system, say)
  let isOver = false
  const driving = drive(system, plan, { isReady: hands.isReady, isOver: () => isOver, mostInProgress })
  const inflicted = await inflictAll().finally(() => {
    isOver = true
  })
  const calls = await driving
  await recover(system.apis, system.workers)
  const observed = await observer(system, prefix)
  try {
    const evidence = async (): Promise<Evidence> => ({ calls, inflicted, ...(await observed.read()) })
    const judged = await judgeUntilRight(evidence, faultsOf)
    const late = limits === undefined ? [] : inTime(judged.evidence, limits)
    const faults = [...late, ...judged.faults]
    return { evidence: judged.evidence, faults, summary: summaryOf(judged.evidence) }
  } finally {
    await observed.close()
  }

  /**
   * Injects the faults, and waits until the processes are ready again. Requests continue until then. Otherwise, too few
   * requests of each kind would follow the faults on a slow machine, where the restarts take long.
   */
  async function inflictAll() {
    const inflicted = await hands.inflict(plan.faults)
    await ready(system.apis, system.workers)
    return inflicted
  }
}

/** Creates the rule that the rounds change, unless an earlier round on the same system has created it. */
async function createRule({ ask }: FraudSystem): Promise<void> {
  const body = { rule_id: RULE_ID, name: 'chaos', condition: 'txn.amount < 0', action: 'REVIEW', priority: 1 }
  const { status, body: answer } = await ask('POST', 'rules', { body })
  if (status !== 201 && status !== 409) throw new Error(`creating the rule returned status ${status} ${JSON.stringify(answer)}`)
}

function summaryOf(evidence: Evidence): string {
  const { calls, logs } = evidence
  const counts = (kind: string, list: readonly string[]) =>
    [...Map.groupBy(list, (each) => each)].map(([what, { length }]) => `${kind} ${what}: ${length}`).sort()
  const good = calls.scores.filter(({ status }) => status === 200)
  const { p50, p99, most } = timesOf(evidence)
  return [
    ...counts(
      'score',
      calls.scores.map(({ status }) => String(status)),
    ),
    ...counts(
      'decision',
      good.map(({ body }) => body.decision),
    ),
    ...counts(
      'degraded',
      good.flatMap(({ body }) => body.degraded),
    ),
    ...counts(
      'block',
      calls.blocks.map(({ status }) => String(status)),
    ),
    ...counts(
      'feedback',
      calls.feedback.map(({ status }) => String(status)),
    ),
    `P50 ${p50} ms, P99 ${p99} ms, most ${most} ms`,
    `${logs.scored.length} events, ${logs.feedback.length} verdicts`,
  ].join(', ')
}

/**
 * Copies the logs of all processes.
 * @returns the folder with the copies
 */
export function keepFraudLogs({ folder, workers, apis }: FraudSystem, target: string): Promise<string> {
  const [bulk, deciding] = workers
  return keepLines(folder.path, { bulk, deciding, ...numbered('api', apis) }, target)
}
