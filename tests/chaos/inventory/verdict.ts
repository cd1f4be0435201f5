import { foldCarts } from './cart-fold.ts'
import type { StockLog } from './log.ts'
import { foldStock, type StockFold } from './stock-fold.ts'

/** A period in which a part may have been down. Times are epoch ms. */
export interface Outage {
  readonly from: number
  readonly to: number
}

export interface StockVerdict extends StockFold {
  /** Number of reservations, including those of carts, that were still open at the end. */
  readonly open: number
}

/** Maximum delay from the end of a reservation or cart to its expiry while nothing is down. */
const LATEST_EXPIRY_MS = 5_000
/**
 * Maximum time from the end of an outage until all overdue expiries have happened. It is long, because the processes of
 * a test may wait for a core.
 */
const CATCH_UP_MS = 60_000

/**
 * Judges a whole log.
 * @param outages periods that excuse late expiries. A period excuses an expiry if two conditions hold. The period, or
 * the 5 s after it, must overlap the time from the end of the reservation or cart to the expiry. The expiry must happen
 * at most `CATCH_UP_MS` after the period.
 */
export function judgeStock(log: StockLog, outages: readonly Outage[]): StockVerdict {
  const stock = foldStock(log)
  const carts = foldCarts(log)
  const faults = [...stock.faults, ...carts.faults]
  for (const { reservationId, endsAt, at } of [...stock.expiries, ...carts.expiries]) {
    if (at - endsAt <= LATEST_EXPIRY_MS) continue
    const isExcused = outages.some(({ from, to }) => from <= at && at <= to + CATCH_UP_MS && to + LATEST_EXPIRY_MS >= endsAt)
    if (!isExcused) faults.push(`${reservationId} expired ${at - endsAt} ms after its end`)
  }
  // All movements that end a cart must be of the same kind, because a cart is sold as a whole or not at all.
  const kinds = Map.groupBy(
    log.inventoryChanged.filter(({ value }) => value.kind !== 'RESERVE'),
    ({ value }) => value.reservation_id,
  )
  for (const [id, status] of carts.statuses) {
    const ends = new Set((kinds.get(id) ?? []).map(({ value }) => value.kind))
    const expected = { CHECKED_OUT: 'DEDUCT', RELEASED: 'RELEASE', EXPIRED: 'EXPIRE', OPEN: undefined }[status]
    if (ends.size !== 1 || !ends.has(expected as never)) faults.push(`${id} is ${status}, but its stock movements are ${[...ends].join()}`)
  }
  const open = stock.models.reduce((sum, { reservations }) => sum + reservations.length, 0)
  return { ...stock, faults, open }
}
