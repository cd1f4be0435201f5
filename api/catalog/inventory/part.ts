import { parseVariantId, placeOfVariant } from '../../../schemas/catalog/ids.ts'
import { inventoryFlow } from '../../../schemas/catalog/inventory/flow.ts'
import { inventoryDecisions } from '../../../schemas/catalog/inventory/topics.ts'
import type { InventoryCommand } from '../../../schemas/catalog/types.ts'
import { readStock, STOCK_VIEW } from '../../../state/views/catalog/stock.ts'
import { jsonAnswer } from '../../kit/answer.ts'
import { ApiError, invalidRequest } from '../../kit/errors.ts'
import { PRIVATE } from '../../kit/headers.ts'
import { caughtUp, viewProbe } from '../../kit/readiness.ts'
import { bind } from '../../kit/route.ts'
import type { ServiceKit } from '../../service.ts'
import { catalogErrors } from '../errors.ts'
import type { Offers } from '../offers.ts'
import type { CatalogPart } from '../part.ts'
import { changedJson, stockJson } from './model.ts'
import { outOfStock, refusal } from './refusals.ts'
import { changeStockRoute, readStockRoute } from './routes.ts'

export interface InventoryDeps extends Pick<ServiceKit, 'views' | 'commands'> {
  readonly facts: Pick<ServiceKit['facts'], 'partitionOf' | 'partitionsOf'>
  readonly offers: Offers
  /** How long a reservation stays open. */
  readonly reservationMs: number
}

/** Creates the routes that read and change stock. */
export function inventoryPart({ views, commands, facts, offers, reservationMs }: InventoryDeps): CatalogPart {
  const changeStock = bind(changeStockRoute, async (input) => {
    const { operation, warehouse_id, quantity_delta, reservation_id } = input.body
    const version = expectedVersion(input)
    const variant_id = variantOf(input.params.variant_id)
    const command = await commands.open(input, ['changeStock', variant_id, version, input.body])
    const [offer] = await offers.offersOf([variant_id])
    const quantity = operation === 'ADJUST' ? quantity_delta : Math.abs(quantity_delta)
    const body: InventoryCommand = {
      action: operation,
      lines: [{ variant_id, warehouse_id, quantity, offer }],
      version,
      reservation_id: reservation_id ?? null,
      held_ms: operation === 'RESERVE' ? reservationMs : 0,
    }
    const answer = await command.run(inventoryFlow, productKey(variant_id), body)
    switch (answer.outcome) {
      case 'done':
        return jsonAnswer(200, changedJson(operation, answer.row, answer.reservations), PRIVATE)
      case 'out_of_stock':
        throw outOfStock(answer)
      case 'not_for_sale':
        throw new ApiError(catalogErrors.variant_not_found)
      case 'reserved':
      case 'released':
        throw new Error(`unexpected outcome of a stock change: ${answer.outcome}`)
      default:
        throw refusal(answer.outcome, answer.row)
    }
  })

  const readRoute = bind(readStockRoute, async ({ params }) => {
    const variantId = variantOf(params.variant_id)
    const partition = facts.partitionOf(inventoryDecisions, productKey(variantId))
    const rows = caughtUp(await readStock(views, partition, variantId))
    const isKnown = rows.length > 0 || (await offers.offersOf([variantId]))[0] !== 'UNKNOWN'
    if (!isKnown) throw new ApiError(catalogErrors.variant_not_found)
    return jsonAnswer(200, stockJson(variantId, rows), PRIVATE)
  })

  return { routes: [changeStock, readRoute], probes: [viewProbe(views, facts, STOCK_VIEW, inventoryDecisions)] }
}

/**
 * Returns the version that the body or If-Match expects; null if neither names a version.
 * @throws ApiError `invalid_request` if the two versions differ
 */
function expectedVersion({ body, expectedVersion: inHeader }: { body: { version?: number }; expectedVersion?: number }): number | null {
  const { version = inHeader } = body
  if (inHeader !== undefined && version !== inHeader) throw invalidRequest('body.version', 'differs from If-Match')
  return version ?? null
}

/** Parses the id of a variant. Throws ApiError `variant_not_found` for a string that cannot be the id of a variant. */
function variantOf(text: string): number {
  const id = parseVariantId(text)
  if (id === undefined) throw new ApiError(catalogErrors.variant_not_found)
  return id
}

/** Returns the record key of the product to which the variant belongs. The id must be a valid id of a variant. */
function productKey(variantId: number): string {
  return String(placeOfVariant(variantId)!.productId)
}
