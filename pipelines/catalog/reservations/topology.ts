import { reservationOutcomes } from '../../../schemas/catalog/inventory/topics.ts'
import { type CartAnswer, reservationFlow } from '../../../schemas/catalog/reservations/flow.ts'
import { EXPIRES_AFTER_MS } from '../../../schemas/catalog/reservations/times.ts'
import type { Cart, CartCommand } from '../../../schemas/catalog/types.ts'
import { avro, type Context, DECIDING, decideCommands, emission, keyedStore, row, timerStore, topology, utf8 } from '../../engine/index.ts'
import { decideCart, expired, outcomesOf } from './decide.ts'

const EXPIRE_EVERY_MS = 1_000
/**
 * Maximum number of carts that one tick ends or deletes. The number is limited because a cart may have a hundred lines,
 * and commands wait while a tick runs. The next tick continues.
 */
const ENDED_PER_TICK = 500
/** How long an ended cart is kept. During this time, it can be read, and requests about it can be repeated. */
export const KEPT_AFTER_END_MS = 24 * 3_600_000

/** Decides how carts change and end, and emits the outcomes for the stock of their products. */
export const reservations = topology(
  'reservations',
  function declareReservations(t) {
    const carts = keyedStore('carts', { key: utf8, value: avro('catalog/Cart') })
    const timers = timerStore('timers', { key: utf8 })

    /**
     * Returns the rows and records that a change to a cart produces. The timer of an open cart is due when the cart
     * expires. The timer of an ended cart is due when the cart is to be deleted.
     */
    function changesOf(before: Cart | undefined, after: Cart, at: number) {
      const { reservation_id, ended_at, ends_at } = after
      const due = ended_at === null ? ends_at + EXPIRES_AFTER_MS : ended_at + KEPT_AFTER_END_MS
      return {
        state: after,
        puts: [row(timers, reservation_id, due)],
        emits: outcomesOf(before, after, at).map((outcome) => emission(reservationOutcomes, String(outcome.product_id), outcome)),
      }
    }

    const deciding = decideCommands<CartCommand, Cart, Cart, CartAnswer>(t, {
      flow: reservationFlow,
      store: carts,
      judgedBy: 'append-time',
      rows: { stores: [timers], reads: (_command, key, rows) => rows.prefetch(timers, key) },
      decide(cart, command, { key, now }) {
        const { answer, state } = decideCart(cart, command, { key, now })
        return state === undefined ? { answer } : { answer, ...changesOf(cart, state, now) }
      },
      view: (cart) => cart,
      emits: [reservationOutcomes],
    })
    const { stores, emits } = deciding

    function end(now: number, ctx: Context): void {
      for (const { key } of timers.due(now, ENDED_PER_TICK)) {
        const cart = carts.get(key)
        if (cart?.status === 'OPEN') deciding.apply(key, changesOf(cart, expired(cart, now), now), ctx)
        else deciding.apply(key, { state: null, puts: [row(timers, key, null)] }, ctx)
      }
    }

    deciding.stream.tick('end-carts', { everyMs: EXPIRE_EVERY_MS, clock: 'caught-up', stores, emits }, end)
  },
  DECIDING,
)
