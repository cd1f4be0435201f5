import type { ServiceKit } from '../../service.ts'
import type { TransactionFinder } from '../transactions/find-transaction.ts'

export interface CasesDeps extends Pick<ServiceKit, 'views' | 'tables' | 'commands' | 'log' | 'now' | 'monotonic'> {
  readonly facts: Pick<ServiceKit['facts'], 'partitionOf' | 'partitionsOf'>
  readonly transactions: Pick<TransactionFinder, 'scored'>
  /** How long a repeated payment gets its first answer. */
  readonly answersKeptMs: number
  pause(ms: number): Promise<unknown>
}
