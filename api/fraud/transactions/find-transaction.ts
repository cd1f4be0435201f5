import { readTransaction, readTransactionFeedback, type StoredTransaction } from '../../../state/tables/fraud/read-transaction.ts'
import type { TableReader } from '../../../state/tables/reader.ts'
import type { KeptAnswers } from '../score/kept-answers.ts'

/**
 * Looks up a transaction in Redis, which normally keeps it for a day, and then in ClickHouse.
 * @returns undefined if no such transaction was scored in the last 90 days, or if ClickHouse does not have the
 * transaction yet
 * @throws ApiError `unavailable` or `not_ready` if the transaction can be read neither from Redis nor from ClickHouse
 */
export type FindTransaction = (transactionId: string) => Promise<StoredTransaction | undefined>

export interface FindTransactionDeps {
  readonly answers: Pick<KeptAnswers, 'find'>
  readonly tables: TableReader
}

export function transactionFinder({ answers, tables }: FindTransactionDeps): FindTransaction {
  return async (transactionId) => {
    const kept = await answers.find(transactionId).catch(() => undefined)
    if (kept === undefined) return await readTransaction(tables, transactionId)
    // The transaction is useful even without its feedback from ClickHouse.
    const feedback = await readTransactionFeedback(tables, transactionId).catch(() => null)
    return { scored: kept, feedback }
  }
}
