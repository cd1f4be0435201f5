import type { FraudSystem } from '../../api/fraud/system.ts'
import { type Judged, judgeUntilRight } from '../judge.ts'
import { keepLines } from '../keep-logs.ts'
import { recover } from '../recover.ts'
import { type Limits, latencies, percentile } from './answered.ts'
import { drive } from './drive.ts'
import type { Evidence } from './evidence.ts'
import { faultHands } from './faults.ts'
import { observer } from './observe.ts'
import type { Plan } from './plan.ts'
import { RULE_ID } from './requests.ts'
import { faultsOf } from './verdict.ts'

export interface RoundResult extends Judged<Evidence> {
  readonly summary: string
}

/** Plays one round and judges it when everything has recovered. @param prefix that of the plan */
export async function playRound(
  system: FraudSystem,
  { plan, prefix, limits }: { readonly plan: Plan; readonly prefix: string; readonly limits: Limits },
  say: (text: string) => void,
): Promise<RoundResult> {
  await createRule(system)
  const hands = faultHands(system, say)
  let isOver = false
  const driving = drive(system, plan, { isReady: hands.isReady, isOver: () => isOver })
  const inflicted = await hands.inflict(plan.faults).finally(() => {
    isOver = true
  })
  const calls = await driving
  await recover(system.apis, system.workers)
  const observed = await observer(system, prefix)
  try {
    const evidence = async (): Promise<Evidence> => ({ calls, inflicted, ...(await observed.read()) })
    const judged = await judgeUntilRight(evidence, (each) => faultsOf(each, limits))
    return { ...judged, summary: summaryOf(judged.evidence) }
  } finally {
    await observed.close()
  }
}

/** The rounds of a system share one rule, which they change. */
async function createRule({ ask }: FraudSystem): Promise<void> {
  const body = { rule_id: RULE_ID, name: 'chaos', condition: 'txn.amount < 0', action: 'REVIEW', priority: 1 }
  const { status, body: answer } = await ask('POST', 'rules', { body })
  if (status !== 201 && status !== 409) throw new Error(`a rule was answered ${status} ${JSON.stringify(answer)}`)
}

function summaryOf(evidence: Evidence): string {
  const { calls, logs } = evidence
  const times = latencies(evidence)
  const counts = (kind: string, list: readonly string[]) =>
    [...Map.groupBy(list, (each) => each)].map(([what, { length }]) => `${kind} ${what}: ${length}`).sort()
  const good = calls.scores.filter(({ status }) => status === 200)
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
    `P50 ${percentile(times, 0.5)} ms, P99 ${percentile(times, 0.99)} ms, most ${times.at(-1)} ms of ${times.length}`,
    `${logs.scored.length} events, ${logs.feedback.length} verdicts`,
  ].join(', ')
}

/** Copies the logs of all processes. @returns the target */
export function keepFraudLogs({ folder, workers, apis }: FraudSystem, target: string): Promise<string> {
  const [bulk, deciding] = workers
  return keepLines(folder.path, { bulk, deciding, ...Object.fromEntries(apis.map((api, index) => [`api${index}`, api])) }, target)
}
