import { setImmediate as nextTurn } from 'node:timers/promises'
import type { LoggedQuery, LoggedTransactions } from '../../../state/tables/fraud/logged.ts'
import type { ReplayProgress } from './process/messages.ts'
import type { ReplayBasis } from './replay.ts'
import { Replay, type ReplayResult } from './report.ts'

/** Replays a sample of the log. Only one batch of transactions is in memory at a time. */
export async function replayLog(
  basis: ReplayBasis,
  log: LoggedTransactions,
  query: LoggedQuery,
  onProgress: (progress: ReplayProgress) => void,
): Promise<{ readonly result: ReplayResult; readonly available: number }> {
  const { available, batches } = await log.sample(query)
  const expected = Math.min(available, query.limit)
  const replay = new Replay(basis)
  let transactions = 0
  for await (const batch of batches) {
    for (const transaction of batch) replay.add(transaction)
    transactions += batch.length
    onProgress({ transactions, expected: Math.max(expected, transactions) })
    await nextTurn()
  }
  return { result: replay.result(), available: Math.max(available, transactions) }
}
