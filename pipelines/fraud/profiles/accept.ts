import type { CountedRequest } from '../../../schemas/fraud/events.ts'
import { isCurrency } from '../../../schemas/fraud/money.ts'
import { DAY_MS } from '../../../schemas/fraud/profile/shape.ts'

/**
 * Maximum length of a user id. The API accepts 50 characters. The profile of a device or an IP contains the ids of up
 * to 32 users. With much longer ids from other producers, it would exceed the maximum size of a record.
 */
const MAX_USER_ID_CHARACTERS = 1_000

/**
 * Returns why a transaction cannot be counted; undefined if it can. The API rejects such transactions, but other
 * producers may write them, and they must not corrupt profiles. A time in the far future, for example, would make all
 * other transactions too old.
 */
export function whyNotCountable({ amount, currency, timestamp, payer }: CountedRequest, now: number): string | undefined {
  if (!(amount >= 0 && amount < Infinity)) return 'the amount is negative, infinite or not a number'
  if (!isCurrency(currency)) return 'the currency is unknown'
  if (!(timestamp > 0 && timestamp <= now + DAY_MS)) return 'the time is more than a day in the future, or before 1970'
  if (payer.user_id.length > MAX_USER_ID_CHARACTERS) return `the user id has more than ${MAX_USER_ID_CHARACTERS} characters`
  return undefined
}
