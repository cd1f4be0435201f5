import type { InventoryAnswer, OutOfStock } from '../../../schemas/catalog/inventory/flow.ts'
import { rowName } from '../../../schemas/catalog/inventory/keys.ts'
import { PART_OUTLIVES_CART_MS } from '../../../schemas/catalog/reservations/times.ts'
import type { CartOutcome, InventoryCommand, StockLine, StockRow, WantedLine } from '../../../schemas/catalog/types.ts'
import type { Ending, StockLedger } from './ledger.ts'
import type { InventoryFacts, StockReader } from './stock.ts'

/**
 * Decides the commands about a part of a cart. A part consists of everything that the cart reserves of one product. An
 * extended cart may stay open for longer than its commands are remembered, so a repeated RESERVE_PART may be decided
 * again while its part is open.
 */
export function decidePart(command: InventoryCommand, facts: InventoryFacts, read: StockReader, ledger: StockLedger): InventoryAnswer {
  if (command.reservation_id === null) throw new RangeError(`${command.action} names no cart`)
  if (command.action === 'RELEASE_PART') return releasePart(command.reservation_id, read, ledger)
  const open = read.reservation(command.reservation_id)
  if (open?.is_part) return { outcome: 'reserved', lines: open.lines, ends_at: open.ends_at, was_open: true }
  const unsold = command.lines.find(({ offer }) => offer !== 'FOR_SALE')
  if (unsold !== undefined) return { outcome: 'not_for_sale', variant_id: unsold.variant_id }
  const lines = chooseWarehouses(command.lines, ledger)
  if (!Array.isArray(lines)) return lines as OutOfStock
  const ends_at = facts.now + command.held_ms + PART_OUTLIVES_CART_MS
  ledger.reserve({ reservation_id: command.reservation_id, product_id: facts.productId, is_part: true, ends_at, lines })
  return { outcome: 'reserved', lines, ends_at }
}

/**
 * Releases a part of a cart. A caller sends this command if it could not reserve all parts or could not open the cart.
 * A cart cannot be opened if its parts are too old, or if a cart with this id has already ended. In all these cases,
 * the part belongs to no open cart, and never will.
 */
function releasePart(reservationId: string, read: StockReader, ledger: StockLedger): InventoryAnswer {
  const part = read.reservation(reservationId)
  if (part?.is_part) ledger.end(part, 'RELEASE')
  return { outcome: 'released' }
}

/**
 * Chooses a warehouse for each line: the one that the line names, or else the one with the most available units of the
 * variant. If a chosen warehouse has too few available units, returns a refusal. Lines that name a warehouse are served
 * first, so that lines without one choose from the remaining stock.
 */
function chooseWarehouses(wanted: readonly WantedLine[], ledger: StockLedger): StockLine[] | OutOfStock {
  const taken = new Map<string, StockLine>()
  const left = (row: StockRow) => row.available - (taken.get(rowName(row))?.quantity ?? 0)

  const ordered = [...wanted.filter((line) => line.warehouse_id !== null), ...wanted.filter((line) => line.warehouse_id === null)]
  for (const { variant_id, warehouse_id, quantity } of ordered) {
    const rows = warehouse_id === null ? ledger.rowsOf(variant_id) : [ledger.row({ variant_id, warehouse_id })]
    const [first, ...others] = rows
    const most = others.reduce((best, row) => (best !== undefined && left(best) >= left(row) ? best : row), first as StockRow | undefined)
    if (most === undefined || left(most) < quantity)
      return { outcome: 'out_of_stock', variant_id, warehouse_id, available: most === undefined ? 0 : left(most) }
    const { warehouse_id: chosen } = most
    const before = taken.get(rowName(most))?.quantity ?? 0
    taken.set(rowName(most), { variant_id, warehouse_id: chosen, quantity: before + quantity })
  }
  return [...taken.values()]
}

const ENDINGS: Readonly<Record<Exclude<CartOutcome['outcome'], 'EXTENDED'>, Ending>> = {
  DEDUCTED: 'DEDUCT',
  RELEASED: 'RELEASE',
  EXPIRED: 'EXPIRE',
}

/**
 * Applies the outcome of a cart to the cart's part for this product.
 * @returns false if the cart has no such part
 */
export function followCart({ reservation_id, outcome, ends_at }: CartOutcome, read: StockReader, ledger: StockLedger): boolean {
  const part = read.reservation(reservation_id)
  if (part === undefined || !part.is_part) return false
  if (outcome === 'EXTENDED') ledger.extend(part, ends_at + PART_OUTLIVES_CART_MS)
  else ledger.end(part, ENDINGS[outcome])
  return true
}
