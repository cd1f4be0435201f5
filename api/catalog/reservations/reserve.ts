import { placeOfVariant } from '../../../schemas/catalog/ids.ts'
import { type InventoryAnswer, inventoryFlow } from '../../../schemas/catalog/inventory/flow.ts'
import { reservationFlow } from '../../../schemas/catalog/reservations/flow.ts'
import type { Cart, InventoryAction, InventoryCommand, WantedLine } from '../../../schemas/catalog/types.ts'
import type { CommandRequest, Commands, OpenCommand } from '../../kit/commands/commands.ts'
import { ApiError, errors, invalidRequest } from '../../kit/errors.ts'
import { catalogErrors } from '../errors.ts'
import { MAX_UNITS } from '../inventory/model.ts'
import { outOfStock } from '../inventory/refusals.ts'
import type { Offers } from '../offers.ts'
import type { NewCart } from './model.ts'

export interface ReserveDeps {
  readonly commands: Commands
  readonly offers: Offers
  readonly reservationMs: number
}

/** The part of a request that concerns one product. */
interface WantedPart {
  readonly productId: number
  readonly lines: readonly WantedLine[]
}

/** One attempt to reserve all parts. Each attempt has a separate reservation_id. */
interface Attempt {
  readonly number: number
  readonly reservationId: string
  readonly command: OpenCommand
}

/**
 * Maximum number of attempts. If a request is repeated long after a 503, the parts that the earlier attempts reserved
 * may be too old to open the cart. The next attempt then reserves new parts. Every repetition goes through all earlier
 * attempts first, and gets their remembered answers.
 */
const MOST_ATTEMPTS = 5

/**
 * Reserves all items or none. First, each product's partition reserves its part. Then this function opens the cart, and
 * from then on only the cart determines what happens to the parts. If a partition refuses its part, this function
 * releases the other parts. If the process dies before it opens the cart, the parts expire. Throws ApiError:
 * `invalid_request`, `idempotency_conflict`, `variant_not_found`, `out_of_stock`, `not_ready`, `unavailable`.
 */
export async function reserve({ commands, offers, reservationMs }: ReserveDeps, from: CommandRequest, body: NewCart): Promise<Cart> {
  const command = await commands.open(from, ['reserve', body])
  const parts = await wantedParts(offers, body)
  for (let number = 1; number <= MOST_ATTEMPTS; number++) {
    const reservationId = number === 1 ? `c-${command.id}` : `c-${command.id}-${number}`
    const cart = await reserveAll({ number, reservationId, command }, parts, reservationMs)
    if (cart !== undefined) return cart
  }
  const message = 'The reservation could not be opened in time. Try again with a new Idempotency-Key.'
  throw new ApiError(errors.unavailable, { message, needsNewKey: true })
}

/**
 * Reserves all parts and opens the cart. Returns undefined if the parts were reserved too long ago, or the cart has
 * ended.
 */
async function reserveAll(attempt: Attempt, parts: readonly WantedPart[], held_ms: number): Promise<Cart | undefined> {
  const { number, reservationId, command } = attempt
  const answers = await Promise.all(parts.map((part) => askPart(attempt, part, 'RESERVE_PART', held_ms)))
  const reserved = answers.flatMap((answer, index) =>
    answer.outcome === 'reserved' ? [{ product_id: parts[index].productId, lines: [...answer.lines], ends_at: answer.ends_at }] : [],
  )
  const refused = answers.find(({ outcome }) => outcome !== 'reserved')
  let hasCart: boolean | undefined
  if (refused === undefined) {
    const parts_end_at = Math.min(...reserved.map(({ ends_at }) => ends_at))
    const cartParts = reserved.map(({ product_id, lines }) => ({ product_id, lines }))
    const open = { action: 'OPEN', parts: cartParts, parts_end_at, held_ms } as const
    const answer = await command.run(reservationFlow, reservationId, open, `${number}:open`)
    // If the cart has already ended, a request with the same Idempotency-Key opened it more than 24 hours ago. The
    // commands of that request are no longer remembered, so this request needs a new cart.
    if ('cart' in answer && answer.outcome !== 'ended') return answer.cart
    hasCart = 'cart' in answer
  }
  await Promise.all(
    parts.map(async (part, index) => {
      const answer = answers[index]
      if (answer.outcome !== 'reserved') return
      // A part that was already reserved may belong to an earlier cart, and then ends with that cart. If that cart has
      // just been checked out, and the stock has not been updated yet, releasing the part would return sold units to
      // the stock.
      if (answer.was_open && hasCart !== false) return
      await askPart(attempt, part, 'RELEASE_PART', 0)
    }),
  )
  if (refused !== undefined) throw partRefused(refused)
  return undefined
}

async function askPart(
  { number, reservationId, command }: Attempt,
  { productId, lines }: WantedPart,
  action: Extract<InventoryAction, `${string}_PART`>,
  held_ms: number,
): Promise<InventoryAnswer> {
  const wanted = action === 'RESERVE_PART' ? [...lines] : []
  const body: InventoryCommand = { action, lines: wanted, version: null, reservation_id: reservationId, held_ms }
  return await command.run(inventoryFlow, String(productId), body, `${number}:${action}:${productId}`)
}

function partRefused(answer: InventoryAnswer): Error {
  switch (answer.outcome) {
    case 'out_of_stock':
      return outOfStock(answer)
    case 'not_for_sale':
      return notForSale(answer.variant_id)
    default:
      return new Error(`unexpected outcome of reserving a part of a cart: ${answer.outcome}`)
  }
}

/** Groups the items by product, and adds up the quantities of items with the same variant and warehouse. */
async function wantedParts(offers: Offers, { items }: NewCart): Promise<WantedPart[]> {
  const found = await offers.offersOf(items.map(({ variant_id }) => variant_id))
  const lines = new Map<string, WantedLine>()
  items.forEach(({ variant_id, quantity, warehouse_id = null }, index) => {
    const key = JSON.stringify([variant_id, warehouse_id])
    const total = quantity + (lines.get(key)?.quantity ?? 0)
    if (total > MAX_UNITS) throw invalidRequest(`body.items[${index}].quantity`, `adds up to more than ${MAX_UNITS}`)
    lines.set(key, { variant_id, warehouse_id, quantity: total, offer: found[index] })
  })
  const parts = Map.groupBy(lines.values(), ({ variant_id }) => placeOfVariant(variant_id)!.productId)
  return Array.from(parts, ([productId, of]) => ({ productId, lines: of }))
}

function notForSale(variant_id: number): ApiError {
  return new ApiError(catalogErrors.variant_not_found, {
    message: `Variant ${variant_id} does not exist or is not for sale.`,
    fields: { variant_id },
  })
}
