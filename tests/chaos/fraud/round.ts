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
  const hands = faultHands(system, say)
  const [calls, inflicted] = await Promise.all([drive(system, plan, hands.isReady), hands.inflict(plan.faults)])
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
