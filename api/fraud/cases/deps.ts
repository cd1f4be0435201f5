import type { ServiceKit } from '../../service.ts'
import type { TransactionFinder } from '../transactions/find-transaction.ts'

export interface CasesDeps extends Pick<ServiceKit, 'views' | 'tables' | 'commands' | 'log' | 'now' | 'monotonic'> {
  readonly facts: Pick<ServiceKit['facts'], 'partitionOf' | 'partitionsOf'>
  readonly transactions: Pick<TransactionFinder, 'reviewed'>
  /** How long a repeated request to score a payment gets the answer to the first request. */
  readonly answersKeptMs: number
  pause(ms: number): Promise<unknown>
}
