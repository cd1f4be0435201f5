import type { CartAnswer } from '../../../schemas/catalog/reservations/flow.ts'
import { CART_ENDS_BEFORE_PARTS_MS } from '../../../schemas/catalog/reservations/times.ts'
import type { Cart, CartCommand, CartEnd, CartOutcome } from '../../../schemas/catalog/types.ts'

interface CartFacts {
  /** The reservation_id. */
  readonly key: string
  /** The append time by which the command is judged, epoch ms; see `DecidingOptions.judgedBy`. */
  readonly now: number
}

interface CartDecision {
  readonly answer: CartAnswer
  /** The cart after the command; omitted when the cart does not change. */
  readonly state?: Cart
}

/**
 * Decides every command about a cart. A cart ends only once. After its expiry time, no command changes it, even if the
 * expiry has not been processed yet.
 */
export function decideCart(cart: Cart | undefined, command: CartCommand, { key, now }: CartFacts): CartDecision {
  if (command.action === 'OPEN') return open(cart, command, key, now)
  if (cart === undefined) return { answer: { outcome: 'not_found' } }
  if (!isOpen(cart, now)) return { answer: { outcome: 'ended', cart } }
  switch (command.action) {
    case 'CHECK_OUT':
      return done({ ...cart, status: 'CHECKED_OUT', ended_at: now })
    case 'RELEASE':
      return done({ ...cart, status: 'RELEASED', ended_at: now })
    case 'EXTEND':
      if (cart.is_extended) return { answer: { outcome: 'extended_before', cart } }
      return done({ ...cart, is_extended: true, ends_at: Math.max(cart.ends_at, now + command.held_ms) })
  }
}

function isOpen({ status, ends_at }: Cart, now: number): boolean {
  return status === 'OPEN' && now <= ends_at
}

function open(cart: Cart | undefined, { parts, parts_end_at, held_ms }: CartCommand, key: string, now: number): CartDecision {
  if (cart !== undefined) return { answer: { outcome: isOpen(cart, now) ? 'done' : 'ended', cart } }
  const ends_at = now + held_ms
  if (parts_end_at === null || ends_at + CART_ENDS_BEFORE_PARTS_MS > parts_end_at) return { answer: { outcome: 'parts_ended' } }
  return done({ reservation_id: key, status: 'OPEN', parts, created_at: now, ends_at, is_extended: false, ended_at: null })
}

function done(cart: Cart): CartDecision {
  return { answer: { outcome: 'done', cart }, state: cart }
}

/** Returns the cart as it is after it has expired at `now`. */
export function expired(cart: Cart, now: number): Cart {
  return { ...cart, status: 'EXPIRED', ended_at: now }
}

const OUTCOMES: Readonly<Record<Exclude<Cart['status'], 'OPEN'>, CartEnd>> = {
  CHECKED_OUT: 'DEDUCTED',
  RELEASED: 'RELEASED',
  EXPIRED: 'EXPIRED',
}

/** Returns what a change to a cart means for stock: one outcome for each product in the cart; none for a new cart. */
export function outcomesOf(before: Cart | undefined, after: Cart, at: number): CartOutcome[] {
  if (before === undefined) return []
  const { reservation_id, ends_at, status } = after
  const outcome = status === 'OPEN' ? 'EXTENDED' : OUTCOMES[status]
  return after.parts.map(({ product_id, lines }) => ({ reservation_id, product_id, outcome, ends_at, lines, at }))
}
