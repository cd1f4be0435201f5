import type { CountedRequest } from '../../../schemas/fraud/events.ts'
import { isCurrency } from '../../../schemas/fraud/money.ts'
import { DAY_MS } from '../../../schemas/fraud/profile/shape.ts'

/**
 * Returns why a transaction cannot be counted; undefined if it can. The API rejects such transactions, but other
 * producers may write them, and they must not spoil profiles. A time in the far future, for example, would make all
 * other transactions too old.
 */
export function whyNotCountable({ amount, currency, timestamp }: CountedRequest, now: number): string | undefined {
  if (!(amount >= 0 && amount < Infinity)) return 'the amount is negative or not a number'
  if (!isCurrency(currency)) return 'the currency is unknown'
  if (!(timestamp > 0 && timestamp <= now + DAY_MS)) return 'the time is more than a day ahead, or before 1970'
  return undefined
}
