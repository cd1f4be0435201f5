import type { Payment } from './payments.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const WEEK_MS = 7 * DAY_MS

/** A card's payments from the last seven days, oldest first. */
export interface CardState {
  last_ts: number
  ts: number[]
  cents: number[]
  /** Bytes that enlarge the state; undefined when the run adds none. */
  padding?: Uint8Array
}

/** A record of the output topic: counts and sums (cents) of the card's earlier payments in (ts - window, ts]. */
export interface Enriched extends Payment {
  n_1h: number
  sum_1h: number
  n_24h: number
  sum_24h: number
  n_7d: number
  sum_7d: number
  /** Time of the card's previous payment; -1 when there is none. */
  last_ts: number
}

export function newCard(padding?: Uint8Array): CardState {
  return padding === undefined ? { last_ts: -1, ts: [], cents: [] } : { last_ts: -1, ts: [], cents: [], padding }
}

/** Computes the features of a payment from the card's earlier payments, and then adds the payment to them. */
export function addPayment(card: CardState, payment: Payment): Enriched {
  const { ts, cents } = card
  const now = payment.ts
  let expired = 0
  while (expired < ts.length && ts[expired] <= now - WEEK_MS) expired++
  dropFirst(ts, expired)
  dropFirst(cents, expired)
  let n1 = 0
  let sum1 = 0
  let n24 = 0
  let sum24 = 0
  let sum7 = 0
  for (let i = 0; i < ts.length; i++) {
    sum7 += cents[i]
    if (ts[i] <= now - DAY_MS) continue
    n24++
    sum24 += cents[i]
    if (ts[i] <= now - HOUR_MS) continue
    n1++
    sum1 += cents[i]
  }
  const enriched: Enriched = {
    tx_id: payment.tx_id,
    card: payment.card,
    terminal: payment.terminal,
    amount_cents: payment.amount_cents,
    ts: now,
    n_1h: n1,
    sum_1h: sum1,
    n_24h: n24,
    sum_24h: sum24,
    n_7d: ts.length,
    sum_7d: sum7,
    last_ts: card.last_ts,
  }
  ts.push(now)
  cents.push(payment.amount_cents)
  card.last_ts = now
  return enriched
}

/** Removes the first items like splice(0, count), but does not allocate an array for the removed items. */
function dropFirst(list: number[], count: number): void {
  if (count === 0) return
  for (let i = count; i < list.length; i++) list[i - count] = list[i]
  for (let i = 0; i < count; i++) list.pop()
}
