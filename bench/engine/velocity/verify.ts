import type { OutputCheck } from '../job.ts'
import { readLongs } from '../longs.ts'
import type { Payments } from './payments.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const WINDOWS_MS = [HOUR_MS, DAY_MS, 7 * DAY_MS]
/** Number of fields: tx_id, card, terminal, amount_cents and ts, a count and a sum per window, and last_ts. */
const FIELDS = 12
const FIRST_WINDOW_FIELD = 5
const LAST_TS_FIELD = 11

/**
 * Computes the expected features independently of the topology, with prefix sums and binary search over each card's
 * payments.
 */
export function expectedFeatures(payments: Payments): (payment: number, into: Float64Array) => void {
  const { count, txId, card, terminal, cents, ts } = payments
  const byCard = new Map<number, number[]>()
  /** Index of each payment among the payments of its card. */
  const place = new Int32Array(count)
  /** Sum in cents of the card's payments before each payment. */
  const sumBefore = new Float64Array(count)
  for (let i = 0; i < count; i++) {
    const list = byCard.get(card[i]) ?? []
    if (list.length === 0) byCard.set(card[i], list)
    else sumBefore[i] = sumBefore[list[list.length - 1]] + cents[list[list.length - 1]]
    place[i] = list.length
    list.push(i)
  }
  return function expected(payment, into) {
    const list = byCard.get(card[payment]) as number[]
    const at = place[payment]
    into[0] = txId[payment]
    into[1] = card[payment]
    into[2] = terminal[payment]
    into[3] = cents[payment]
    into[4] = ts[payment]
    let field = FIRST_WINDOW_FIELD
    for (const window of WINDOWS_MS) {
      const first = firstAfter(ts, list, at, ts[payment] - window)
      into[field++] = at - first
      into[field++] = sumBefore[payment] - sumBefore[list[first]]
    }
    into[LAST_TS_FIELD] = at === 0 ? -1 : ts[list[at - 1]]
  }
}

/** Finds the first index in `list[0..end)` whose payment is later than `time`; returns `end` when there is none. */
function firstAfter(ts: Float64Array, list: readonly number[], end: number, time: number): number {
  let low = 0
  let high = end
  while (low < high) {
    const middle = (low + high) >>> 1
    if (ts[list[middle]] > time) high = middle
    else low = middle + 1
  }
  return low
}

/** Checks that every payment is output exactly once, with the right fields. */
export function checkFeatures(payments: Payments): OutputCheck {
  const expectedOf = expectedFeatures(payments)
  const indexOf = new Map<number, number>()
  for (let i = 0; i < payments.count; i++) indexOf.set(payments.txId[i], i)
  const seen = new Uint8Array(payments.count)
  const fields = new Float64Array(FIELDS)
  const expected = new Float64Array(FIELDS)
  let records = 0
  return {
    record(buffer, _keyStart, _keyEnd, start, end) {
      if (!readLongs(buffer, start, end, fields)) return `a value does not contain ${FIELDS} longs`
      records++
      const index = indexOf.get(fields[0])
      if (index === undefined) return `unknown payment ${fields[0]}`
      if (seen[index]++ > 0) return `payment ${fields[0]} was output twice`
      expectedOf(index, expected)
      const field = fields.findIndex((value, i) => value !== expected[i])
      if (field < 0) return undefined
      return `payment ${fields[0]}: field ${field} is ${fields[field]}, not ${expected[field]} (the windows begin at field ${FIRST_WINDOW_FIELD}; last_ts is field ${LAST_TS_FIELD})`
    },
    missing: () => (records === payments.count ? undefined : `${payments.count - records} payments are missing`),
  }
}
