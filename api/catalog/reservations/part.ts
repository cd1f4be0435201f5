import { type CartAnswer, reservationFlow } from '../../../schemas/catalog/reservations/flow.ts'
import { reservationDecisions } from '../../../schemas/catalog/reservations/topics.ts'
import type { Cart, CartAction } from '../../../schemas/catalog/types.ts'
import { CARTS_VIEW, readCart } from '../../../state/views/catalog/carts.ts'
import { jsonAnswer } from '../../kit/answer.ts'
import type { CommandRequest } from '../../kit/commands/commands.ts'
import { ApiError } from '../../kit/errors.ts'
import { PRIVATE } from '../../kit/headers.ts'
import { caughtUp, viewProbe } from '../../kit/readiness.ts'
import { bind } from '../../kit/route.ts'
import { catalogErrors } from '../errors.ts'
import type { InventoryDeps } from '../inventory/part.ts'
import type { CatalogPart } from '../part.ts'
import { cartJson } from './model.ts'
import { reserve } from './reserve.ts'
import { checkOutRoute, extendRoute, readCartRoute, releaseRoute, reserveCartRoute } from './routes.ts'

/** Pattern of a reservation_id. Any other text is refused, and no command is sent for it. */
const CART_ID = /^c-[\w-]{1,100}$/

/** Creates the routes for reservations that can include variants of several products. */
export function reservationsPart(deps: InventoryDeps): CatalogPart {
  const { views, commands, facts, reservationMs } = deps

  async function change(from: CommandRequest, id: string, action: Exclude<CartAction, 'OPEN'>) {
    const command = await commands.open(from, [action, id])
    if (!CART_ID.test(id)) throw new ApiError(catalogErrors.reservation_not_found)
    const held_ms = action === 'EXTEND' ? reservationMs : 0
    const answer = await command.run(reservationFlow, id, { action, parts: [], parts_end_at: null, held_ms })
    return jsonAnswer(200, cartJson(changedCart(answer)), PRIVATE)
  }

  return {
    routes: [
      bind(reserveCartRoute, async (input) => jsonAnswer(201, cartJson(await reserve(deps, input, input.body)), PRIVATE)),
      bind(checkOutRoute, (input) => change(input, input.params.reservation_id, 'CHECK_OUT')),
      bind(releaseRoute, (input) => change(input, input.params.reservation_id, 'RELEASE')),
      bind(extendRoute, (input) => change(input, input.params.reservation_id, 'EXTEND')),
      bind(readCartRoute, async ({ params: { reservation_id } }) => {
        const partition = facts.partitionOf(reservationDecisions, reservation_id)
        const cart = caughtUp(await readCart(views, partition, reservation_id))
        if (cart === undefined) throw new ApiError(catalogErrors.reservation_not_found)
        return jsonAnswer(200, cartJson(cart), PRIVATE)
      }),
    ],
    probes: [viewProbe(views, facts, CARTS_VIEW, reservationDecisions)],
  }
}

function changedCart(answer: CartAnswer): Cart {
  switch (answer.outcome) {
    case 'done':
      return answer.cart
    case 'ended': {
      const { status } = answer.cart
      // A cart that has just expired is still OPEN, because the topology has not changed its status yet.
      throw new ApiError(catalogErrors.reservation_ended, { fields: { status: status === 'OPEN' ? 'EXPIRED' : status } })
    }
    case 'extended_before':
      throw new ApiError(catalogErrors.reservation_extended)
    case 'not_found':
    case 'parts_ended':
      throw new ApiError(catalogErrors.reservation_not_found)
  }
}
