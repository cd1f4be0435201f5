import type { SinkRecord } from '../target.ts'

/**
 * A receiver of single records that stores no offsets, such as a web server or a log. Deliveries run concurrently and
 * in no particular order. Each record is delivered at least once, so the receiver must recognise repetitions by an id
 * in the record.
 */
export interface DeliveryTarget {
  /** Appears in logs and metrics. */
  readonly name: string
  /** Maximum number of deliveries that run at the same time in one process. */
  readonly concurrency: number
  /**
   * How long failed deliveries are retried, counted from a record's first attempt. After this time, the record becomes
   * a dead letter.
   * @default 24 hours
   */
  readonly giveUpAfterMs?: number
  /**
   * Delivers one record. The call must end by itself within a few seconds, because the record's partition cannot move
   * to another process before the call has ended. If the call throws an error, the sink stops.
   */
  deliver(record: SinkRecord): Promise<DeliveryOutcome>
}

/** The outcome of one attempt. Codes are short, because metrics use them as label values. */
export type DeliveryOutcome =
  | { readonly outcome: 'delivered' }
  /** The record is no longer needed. */
  | { readonly outcome: 'dropped'; readonly code: string }
  /** Another attempt may succeed. */
  | { readonly outcome: 'failed'; readonly code: string; readonly message: string; readonly retryAfterMs?: number }
  /** No further attempt would succeed, so the record becomes a dead letter at once. */
  | { readonly outcome: 'refused'; readonly code: string; readonly message: string }

export const DELIVERED: DeliveryOutcome = { outcome: 'delivered' }
