/**
 * Replays the commands about carts in a model that shares no code with the service. Checks that the answers, the view
 * and the outcomes in the log agree with the model, and that no cart expired early.
 */
import type { CartAnswer } from '../../../schemas/catalog/reservations/flow.ts'
import type { Cart, CartCommand } from '../../../schemas/catalog/types.ts'
import { answersIn, type DecidedCommand, decidedCommands, type StockLog } from './log.ts'
import type { Expiry } from './stock-fold.ts'

export interface CartFold {
  readonly faults: readonly string[]
  /** The final status of each cart that was opened. */
  readonly statuses: ReadonlyMap<string, Cart['status']>
  /** The expiries of carts that no command ended. */
  readonly expiries: readonly Expiry[]
}

interface ModelCart {
  endsAt: number
  isExtended: boolean
  /** How a command ended the cart; undefined if no command did. */
  end: 'CHECKED_OUT' | 'RELEASED' | undefined
}

const OUTCOMES = { CHECKED_OUT: 'DEDUCTED', RELEASED: 'RELEASED', EXPIRED: 'EXPIRED' } as const
/** A cart may be opened only if its reservations outlast it by at least this time. */
const LEFT_FOR_PARTS_MS = 45_000
const EXPIRES_AFTER_MS = 1_000

export function foldCarts(log: StockLog): CartFold {
  const faults: string[] = []
  const answers = answersIn<CartAnswer>(log.reservationDecisions, faults)
  const commands = Map.groupBy(decidedCommands(log.reservationCommands, answers), ({ key }) => key)
  const views = Map.groupBy(
    log.reservationDecisions.filter(({ value }) => value === null || value.view !== null),
    ({ key }) => key,
  )
  const outcomes = Map.groupBy(log.reservationOutcomes, ({ value }) => value.reservation_id)
  const statuses = new Map<string, Cart['status']>()
  const expiries: Expiry[] = []

  for (const [id, asked] of commands) {
    const cart = foldCart(id, asked)
    const last = views.get(id)?.at(-1)?.value?.view ?? undefined
    if ((cart === undefined) !== (last === undefined)) faults.push(`${id}: the view shows ${JSON.stringify(last)}`)
    if (cart === undefined || last === undefined) continue
    const status = cart.end ?? 'EXPIRED'
    statuses.set(id, status)
    if (last.status !== status) faults.push(`${id}: the view shows ${last.status}, not ${status}`)
    if (status === 'EXPIRED') expire(id, cart, last)
    const expected = cart.isExtended ? ['EXTENDED', OUTCOMES[status]] : [OUTCOMES[status]]
    for (const { product_id } of last.parts) {
      const found = (outcomes.get(id) ?? []).filter(({ value }) => value.product_id === product_id).map(({ value }) => value.outcome)
      if (found.join() !== expected.join()) faults.push(`${id}: product ${product_id} got ${found.join()}, not ${expected.join()}`)
    }
  }
  for (const id of outcomes.keys()) if (!statuses.has(id)) faults.push(`${id}: an outcome of a cart that was never opened`)

  function foldCart(id: string, asked: readonly DecidedCommand<CartCommand, CartAnswer>[]): ModelCart | undefined {
    let cart: ModelCart | undefined
    for (const { body, now, answer } of asked) {
      const [outcome, after] = decide(cart, body, now)
      const isRight = outcome === answer.outcome && (outcome !== 'done' || timeOf(answer) === timeIn(after!, body, now))
      if (!isRight) faults.push(`${id}: ${body.action} got the answer ${JSON.stringify(answer)}, not ${outcome}`)
      cart = after
    }
    return cart
  }

  function expire(reservationId: string, { endsAt }: ModelCart, { ended_at }: Cart): void {
    if (ended_at === null) return
    expiries.push({ reservationId, isPart: false, endsAt, at: ended_at })
    if (ended_at < endsAt + EXPIRES_AFTER_MS)
      faults.push(`${reservationId} expired at ${ended_at}, earlier than ${EXPIRES_AFTER_MS} ms after its end ${endsAt}`)
  }

  return { faults, statuses, expiries }
}

function decide(cart: ModelCart | undefined, command: CartCommand, now: number): [CartAnswer['outcome'], ModelCart | undefined] {
  const { action, held_ms, parts_end_at } = command
  const hasEnded = cart !== undefined && (cart.end !== undefined || now > cart.endsAt)
  if (action === 'OPEN') {
    if (cart !== undefined) return [hasEnded ? 'ended' : 'done', cart]
    const endsAt = now + held_ms
    return endsAt + LEFT_FOR_PARTS_MS > (parts_end_at ?? 0)
      ? ['parts_ended', undefined]
      : ['done', { endsAt, isExtended: false, end: undefined }]
  }
  if (cart === undefined) return ['not_found', undefined]
  if (hasEnded) return ['ended', cart]
  if (action === 'CHECK_OUT') return ['done', { ...cart, end: 'CHECKED_OUT' }]
  if (action === 'RELEASE') return ['done', { ...cart, end: 'RELEASED' }]
  if (cart.isExtended) return ['extended_before', cart]
  return ['done', { ...cart, isExtended: true, endsAt: Math.max(cart.endsAt, now + held_ms) }]
}

/** Returns the time at which the cart in an answer ended or will end; undefined if the answer contains no cart. */
function timeOf(answer: CartAnswer): number | undefined {
  if (!('cart' in answer)) return undefined
  return answer.cart.ended_at ?? answer.cart.ends_at
}

function timeIn(cart: ModelCart, { action }: CartCommand, now: number): number {
  return action === 'CHECK_OUT' || action === 'RELEASE' ? now : cart.endsAt
}
