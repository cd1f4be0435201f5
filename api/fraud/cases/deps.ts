import type { StoredTransaction } from '../../../state/tables/fraud/read-transaction.ts'
import type { ServiceKit } from '../../service.ts'

export interface CasesDeps extends Pick<ServiceKit, 'views' | 'tables' | 'commands' | 'log' | 'now' | 'monotonic'> {
  readonly facts: Pick<ServiceKit['facts'], 'partitionOf' | 'partitionsOf'>
  /** Looks up a scored transaction wherever it may be stored. Throws ApiError `unavailable`, `not_ready`. */
  findTransaction(id: string): Promise<Pick<StoredTransaction, 'scored'> | undefined>
  /** How long a repeated payment gets its first answer. */
  readonly answersKeptMs: number
  pause(ms: number): Promise<unknown>
}
