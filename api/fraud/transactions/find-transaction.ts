import type { ReviewedTransaction } from '../../../schemas/fraud/cases/review.ts'
import type { TxnScored } from '../../../schemas/fraud/types.ts'
import {
  readReviewed,
  readTransaction,
  readTransactionFeedback,
  type StoredTransaction,
} from '../../../state/tables/fraud/read-transaction.ts'
import type { TableReader } from '../../../state/tables/reader.ts'
import { withDeadline } from '../../kit/deadline.ts'
import type { KeptAnswers } from '../score/kept-answers.ts'

/**
 * Looks up transactions in Redis, which normally keeps them for a day, and then in ClickHouse. A lookup resolves with
 * undefined if no such transaction was scored in the last 90 days, or if neither Redis nor ClickHouse has it yet.
 * It throws ApiError `unavailable` or `not_ready` if Redis or ClickHouse cannot be read, and the other one does not
 * have the transaction.
 */
export interface TransactionFinder {
  /** Finds the data of a transaction that its case needs. Does not wait for ClickHouse if Redis has the transaction. */
  reviewed(transactionId: string): Promise<ReviewedTransaction | undefined>
  /** Finds a transaction with its newest verdict, which only ClickHouse has. The verdict may be missing. */
  withFeedback(transactionId: string): Promise<StoredTransaction | undefined>
}

export interface TransactionFinderDeps {
  readonly answers: Pick<KeptAnswers, 'find'>
  readonly tables: TableReader
  /** Default FEEDBACK_TIMEOUT_MS. */
  readonly feedbackTimeoutMs?: number
}

/**
 * Time limit of the query for the verdict of a transaction that Redis has. The transaction is useful even without its
 * verdict, so a ClickHouse that hangs must not delay it for long.
 */
const FEEDBACK_TIMEOUT_MS = 1_000

export function transactionFinder({ answers, tables, feedbackTimeoutMs = FEEDBACK_TIMEOUT_MS }: TransactionFinderDeps): TransactionFinder {
  /**
   * @param complete adds what Redis does not have
   * @param read looks the transaction up in ClickHouse
   */
  async function find<T>(
    transactionId: string,
    complete: (kept: TxnScored) => T | Promise<T>,
    read: (transactionId: string) => Promise<T | undefined>,
  ): Promise<T | undefined> {
    let failure: unknown
    const kept = await answers.find(transactionId).catch((error: unknown) => {
      failure = error
      return undefined
    })
    if (kept !== undefined) return await complete(kept)
    const stored = await read(transactionId)
    // The event of a payment may still be on its way to ClickHouse, so without Redis it is not known whether the
    // payment exists.
    if (stored === undefined && failure !== undefined) throw failure
    return stored
  }

  async function readFeedback(transactionId: string): Promise<StoredTransaction['feedback']> {
    const reading = readTransactionFeedback(tables, transactionId)
    return await withDeadline(reading, feedbackTimeoutMs, () => new Error('no answer in time')).catch(() => null)
  }

  return {
    reviewed: (transactionId) =>
      find<ReviewedTransaction>(
        transactionId,
        (kept) => kept,
        (id) => readReviewed(tables, id),
      ),
    withFeedback: (transactionId) =>
      find<StoredTransaction>(
        transactionId,
        async (scored) => ({ scored, feedback: await readFeedback(transactionId) }),
        (id) => readTransaction(tables, id),
      ),
  }
}
