import { answerOf } from '../../../api/fraud/score/answer.ts'
import type { ScoreAnswer } from '../../../api/fraud/score/model.ts'
import type { Trouble } from '../troubles.ts'
import type { Evidence } from './evidence.ts'
import type { ScoreCall } from './requests.ts'

/**
 * Checks that every call to a live API got a correct status, that calls with the same id got consistent answers, and
 * that the answers are in the log.
 */
export function answered(evidence: Evidence): string[] {
  const { scores } = evidence.calls
  return [
    ...scores.flatMap((call) => wrongStatus(call, evidence)),
    ...[...Map.groupBy(scores, ({ payment }) => payment.id).values()].flatMap((calls) => repetitions(calls, evidence)),
    ...inLog(evidence),
  ]
}

function wrongStatus(call: ScoreCall, { inflicted, calls }: Evidence): string[] {
  const { status, payment, amount } = call
  if (status === 200) return []
  const wasKilled = inflicted.apis.some((trouble) => trouble.isKilled && trouble.api === call.api && meets(trouble, call))
  if (wasKilled && (status === 0 || status === 503)) return []
  const hasOther = calls.scores.some((other) => other.payment.id === payment.id && other.amount !== amount)
  return status === 409 && hasOther ? [] : [described(call)]
}

/**
 * Checks the answers to requests with the same id: equal requests must get the same answer, and different requests must
 * not both get an answer. Answers that a block caused are not compared. A difference is excused if one of the answers
 * has `answers` in `degraded`. It is also excused if a fault affected Redis at any time from the start of the earlier
 * request to the end of the later one. If a request got 409, another request with this id must have got an answer.
 */
function repetitions(calls: readonly ScoreCall[], { inflicted }: Evidence): string[] {
  const good = calls.filter(({ status, body }) => status === 200 && body.reason !== 'blocklist_hit')
  const isExcused = (one: ScoreCall, other: ScoreCall) =>
    [one, other].some(({ body }) => body.degraded.includes('answers')) ||
    inflicted.redis.some((trouble) => meets(trouble, { from: Math.min(one.from, other.from), to: Math.max(one.to, other.to) }))
  const isSame = (one: ScoreCall, other: ScoreCall) => one.amount === other.amount && one.body.request_id === other.body.request_id
  const differs = good.flatMap((one, index) =>
    good
      .slice(index + 1)
      .filter((other) => !isSame(one, other) && !isExcused(one, other))
      .map((other) => `${described(one)} and ${described(other)}`),
  )
  const isRefused = calls.some(({ status }) => status === 409) && !calls.some(({ status }) => status === 200)
  return isRefused ? [...differs, `${described(calls[0])}, and no request with this id got an answer`] : differs
}

/** Checks that the log contains each answer, except answers that say that their record may be lost. */
function inLog({ calls, logs }: Evidence): string[] {
  const text = (answer: ScoreAnswer) => JSON.stringify({ ...answer, degraded: answer.degraded.filter((part) => part !== 'log') })
  const logged = new Set(logs.scored.map(({ value }) => text(answerOf(value))))
  return calls.scores
    .filter(({ status, body }) => status === 200 && !body.degraded.includes('log') && !logged.has(text(body)))
    .map((call) => `${described(call)} is not in the log`)
}

/** Returns whether a call overlaps a fault, or the period of `laterMs` after it. */
export function meets(trouble: Trouble, { from, to }: Trouble, laterMs = 0): boolean {
  return from <= trouble.to + laterMs && to >= trouble.from
}

export function described({ payment, amount, api, from, to, status, body }: ScoreCall): string {
  return `payment ${payment.id} of ${amount} at API ${api}, ${from} to ${to}: ${status} ${JSON.stringify(body)}`
}
