import { statusAfter } from '../../../schemas/fraud/cases/transitions.ts'
import type { FraudCase } from '../../../schemas/fraud/types.ts'
import { differences } from '../judge.ts'
import { neverAccepted } from '../never-accepted.ts'
import type { Evidence } from './evidence.ts'
import { type FeedbackCall, wasAnswered } from './requests.ts'

/**
 * Statuses that a request with a verdict may get during a fault. 0: the API was killed. 404: the transaction is not
 * known yet.
 */
const REFUSALS: ReadonlySet<number> = new Set([0, 404, 409, 503, 504])

/**
 * Checks that each transaction with a review or a verdict has exactly one case, that no verdict was lost or invented,
 * and that requests with verdicts failed only with statuses that a fault explains.
 */
export function reviewed(evidence: Evidence): string[] {
  const { feedback } = evidence.calls
  return [
    ...feedback.flatMap((call) => wrongAnswer(call, evidence)),
    ...neverAccepted(feedback.map((call) => ({ kind: 'feedback', isAccepted: wasAnswered(call) }))),
    ...strangers(evidence),
    ...cases(evidence),
  ]
}

function wrongAnswer(call: FeedbackCall, { logs, tables }: Evidence): string[] {
  const { id, verdict, reporter, status, body } = call
  const what = `${verdict} of ${id} by ${reporter} at API ${call.api}, ${call.from} to ${call.to}: ${status} ${JSON.stringify(body)}`
  if (!wasAnswered(call)) return REFUSALS.has(status) ? [] : [what]
  const isMine = (one: { transaction_id: string; verdict: string; reporter: string }) =>
    one.transaction_id === id && one.verdict === verdict && one.reporter === reporter
  const logged = logs.feedback.find(({ value }) => isMine(value))
  return [
    ...(logged === undefined ? [`${what} is not in the log`] : []),
    ...(logged !== undefined && logged.value.case_id !== body.case_id ? [`${what} has the case ${logged.value.case_id} in the log`] : []),
    ...(tables.feedback.some(isMine) ? [] : [`${what} is not in the table`]),
  ]
}

/** Checks that no verdict is in the log more often than it was sent, and that the table has the verdicts of the log. */
function strangers({ calls, logs, tables }: Evidence): string[] {
  const text = ({ id, verdict, reporter }: { id: string; verdict: string; reporter: string }) => `${verdict} of ${id} by ${reporter}`
  const sent = Map.groupBy(calls.feedback, text)
  const logged = logs.feedback.map(({ value }) => text({ ...value, id: value.transaction_id }))
  const tooOften = [...Map.groupBy(logged, (each) => each)].filter(([what, { length }]) => length > (sent.get(what)?.length ?? 0))
  return [
    ...tooOften.map(([what, { length }]) => `${what} is in the log ${length} times`),
    ...differences(
      'the table of verdicts',
      logged.toSorted(),
      tables.feedback.map((row) => text({ ...row, id: row.transaction_id })).sort(),
    ),
  ]
}

function cases({ logs, tables, listed }: Evidence): string[] {
  const reviewedIds = logs.scored.flatMap(({ value }) => (value.decision === 'REVIEW' ? [value.request.transaction_id] : []))
  const due = [...new Set([...reviewedIds, ...logs.feedback.map(({ key }) => key)])].sort()
  const viewsOf = Map.groupBy(
    logs.cases.flatMap(({ value }) => value?.view ?? []),
    ({ transaction }) => transaction.transaction_id,
  )
  const newest = new Map([...viewsOf].map(([id, views]) => [id, views.at(-1) as FraudCase]))
  const feedbackOf = Map.groupBy(logs.feedback, ({ key }) => key)
  const found = [
    ...differences('cases', due, [...viewsOf.keys()].sort()),
    ...differences('the list of cases', due, listed.toSorted()),
    ...differences(
      'the table of cases',
      [...newest.values()].map(({ case_id, status }) => `${case_id} ${status}`).sort(),
      tables.cases.map(({ case_id, status }) => `${case_id} ${status}`).sort(),
    ),
  ]
  for (const [id, views] of viewsOf) {
    const ids = new Set(views.map(({ case_id }) => case_id))
    if (ids.size > 1) found.push(`transaction ${id} has the cases ${[...ids].join(', ')}`)
    const last = feedbackOf.get(id)?.at(-1)?.value.verdict
    const expected = last === undefined ? 'OPEN' : statusAfter(last)
    const { status, verdict } = newest.get(id) as FraudCase
    if (status !== expected || verdict !== (last ?? null))
      found.push(`the case of ${id} is ${status} with the verdict ${verdict}, and the last verdict is ${last}`)
  }
  return found
}
