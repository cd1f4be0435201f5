import type { CaseAnswer } from '../../../schemas/fraud/cases/flow.ts'
import { reviewOf } from '../../../schemas/fraud/cases/review.ts'
import { fraudCases } from '../../../schemas/fraud/cases/topics.ts'
import type { FraudCase, FraudCaseCommand, TxnScored } from '../../../schemas/fraud/types.ts'
import { DAY_MS } from '../../../schemas/retention.ts'
import { readTableCaseOf } from '../../../state/tables/fraud/cases.ts'
import { hasCase } from '../../../state/views/fraud/cases.ts'
import { ApiError } from '../../kit/errors.ts'
import { caughtUp } from '../../kit/readiness.ts'
import { fraudErrors } from '../errors.ts'
import type { CasesDeps } from './deps.ts'

/**
 * How long to look for a transaction. If a transaction was just scored, its event may not have reached ClickHouse yet.
 */
const LOOK_UP_MS = 2_000
/**
 * First pause between two lookups. Each further pause is twice as long, because a lookup takes about 10 ms of
 * ClickHouse's CPU time, and many callers may look for transactions after Redis was emptied.
 */
const LOOK_AGAIN_MS = 200
/**
 * Minimum age of a transaction whose case may have moved from the topology's state to ClickHouse. A case moves 30 days
 * after it was closed, so its transaction is at least 30 days old. The constant is one day shorter, because clocks may
 * differ.
 */
const ARCHIVED_AFTER_MS = 29 * DAY_MS

/** @param read returns the command. Not called for a repeated request that gets the answer to the first request. */
type Run = (read: () => Promise<FraudCaseCommand>, step?: string) => Promise<CaseAnswer>

/**
 * The parts of the command that describe the transaction and its archived case. Both are null if the topology has the
 * case.
 */
type Background = Pick<FraudCaseCommand, 'transaction' | 'archived'>

const HAS_CASE: Background = { transaction: null, archived: null }

/**
 * Records a verdict about any transaction of the last 90 days. If the transaction has no case, the command contains the
 * data for a new case, because the topology receives only transactions with the decision REVIEW. Throws ApiError:
 * `transaction_not_found`, `not_ready`, `unavailable`.
 */
export async function recordVerdict(deps: CasesDeps, id: string, command: FraudCaseCommand, run: Run): Promise<CaseAnswer> {
  const answer = await run(async () => ({ ...command, ...(await backgroundOf(deps, id)) }))
  // `not_found` means that the case has left the state since the lookup, so the command is sent again with the archived
  // case.
  if (answer.outcome !== 'not_found') return answer
  return await run(async () => ({ ...command, ...(await lookedUp(deps, id)) }), 'archived')
}

async function backgroundOf(deps: CasesDeps, id: string): Promise<Background> {
  const { views, facts, monotonic, pause } = deps
  const partition = facts.partitionOf(fraudCases, id)
  const until = monotonic() + LOOK_UP_MS
  for (let pauseMs = LOOK_AGAIN_MS; ; pauseMs *= 2) {
    const hasOne = await hasCase(views, partition, id)
    if (hasOne === true) return HAS_CASE
    // While the view is being built, the transaction may have a case that the view does not contain yet. The topology
    // then ignores the looked-up data.
    const found = await lookedUp(deps, id)
    if (found !== undefined) return found
    if (monotonic() >= until) {
      caughtUp(hasOne)
      throw new ApiError(fraudErrors.transaction_not_found)
    }
    await pause(Math.min(pauseMs, until - monotonic()))
  }
}

async function lookedUp({ transactions, tables, now, answersKeptMs }: CasesDeps, id: string): Promise<Background | undefined> {
  const scored = await transactions.reviewed(id)
  if (scored === undefined) return undefined
  const mayBeArchived = now() - scored.scored_at >= ARCHIVED_AFTER_MS
  const archived = mayBeArchived ? await readTableCaseOf(tables, id) : undefined
  const isOfOther = archived !== undefined && isOfEarlierPayment(archived, scored, answersKeptMs)
  return { transaction: reviewOf(scored), archived: isOfOther ? null : (archived ?? null) }
}

/**
 * Returns whether an archived case belongs to an earlier payment with the same id. Two payments with the same id are
 * more than `answersKeptMs` apart, because a request that arrives sooner is a repetition of the first payment.
 */
function isOfEarlierPayment(archived: string, { scored_at }: Pick<TxnScored, 'scored_at'>, answersKeptMs: number): boolean {
  return (JSON.parse(archived) as FraudCase).transaction.scored_at < scored_at - answersKeptMs
}
