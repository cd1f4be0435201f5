import type { InventoryRefusal, OutOfStock } from '../../../schemas/catalog/inventory/flow.ts'
import type { StockRow } from '../../../schemas/catalog/types.ts'
import { ApiError, invalidRequest } from '../../kit/errors.ts'
import { catalogErrors } from '../errors.ts'

export function outOfStock({ variant_id, warehouse_id, available }: OutOfStock): ApiError {
  const units = available === 1 ? 'unit' : 'units'
  // If no warehouse was named, `available` is the largest number of units in a single warehouse, and not the total of
  // all warehouses.
  const message =
    warehouse_id === null
      ? `No warehouse has more than ${available} available ${units} of variant ${variant_id}.`
      : `Only ${available} ${units} of variant ${variant_id} ${available === 1 ? 'is' : 'are'} available in the warehouse ${warehouse_id}.`
  return new ApiError(catalogErrors.out_of_stock, { message, fields: { variant_id, warehouse_id, available } })
}

/** Returns the error for a refused stock change. */
export function refusal(outcome: InventoryRefusal, row: StockRow): ApiError {
  const { variant_id, warehouse_id, available, reserved, version } = row
  switch (outcome) {
    case 'version_conflict':
      return new ApiError(catalogErrors.version_conflict, {
        message: `The stock now has version ${version}. Read the stock again, and send its current version.`,
        fields: { variant_id, warehouse_id, available, reserved, version },
      })
    case 'reservation_ended':
      return new ApiError(catalogErrors.reservation_ended, {
        message: 'The reservation is not open for this variant and warehouse, or the open reservations have fewer units than requested.',
        fields: { reserved },
      })
    case 'reservation_in_cart':
      return new ApiError(catalogErrors.reservation_in_cart)
    case 'too_many_reservations':
      return invalidRequest('body.quantity_delta', 'would take units from more than 1,000 reservations; use a smaller quantity')
    case 'too_many_warehouses':
      return invalidRequest('body.warehouse_id', 'would exceed the limit of 1,000 warehouses per variant')
    case 'too_much':
      return invalidRequest('body.quantity_delta', 'would bring the stock of the warehouse above 2,147,483,647')
    case 'no_row':
      return invalidRequest('body.warehouse_id', 'has never received the variant; use RECEIVE instead of ADJUST')
  }
}
