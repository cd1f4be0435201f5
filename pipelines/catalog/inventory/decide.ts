import type { InventoryAnswer, InventoryRefusal } from '../../../schemas/catalog/inventory/flow.ts'
import type { InventoryCommand, StockLine, StockRow, WantedLine } from '../../../schemas/catalog/types.ts'
import { decidePart } from './decide-part.ts'
import { type Ending, MOST_UNITS, NOTHING_OPEN, type StockChanges, type StockLedger, stockLedger } from './ledger.ts'
import type { InventoryFacts, OpenReservation, StockReader } from './stock.ts'

export interface InventoryDecision {
  readonly answer: InventoryAnswer
  readonly changes: StockChanges
}

/**
 * Maximum number of reservations that a command without a reservation_id may end. Without this limit, a decision could
 * take very long, because a row may have 150,000 reservations.
 */
const MOST_RESERVATIONS_PER_COMMAND = 1_000
/**
 * Maximum number of warehouses per variant. The limit is necessary because a line that names no warehouse reads the
 * rows of all warehouses.
 */
const MOST_WAREHOUSES = 1_000

/** Decides every command about the stock of a product. The decision depends only on the arguments. */
export function decideInventory(command: InventoryCommand, facts: InventoryFacts, read: StockReader): InventoryDecision {
  const { productId, now: at, commandId } = facts
  const ledger = stockLedger(read, { productId, at, commandId })
  const answer = answerOf(command, facts, read, ledger)
  return { answer, changes: ledger.changes }
}

function answerOf(command: InventoryCommand, facts: InventoryFacts, read: StockReader, ledger: StockLedger): InventoryAnswer {
  const { action } = command
  if (action === 'RESERVE_PART' || action === 'RELEASE_PART') return decidePart(command, facts, read, ledger)
  const [wanted] = command.lines
  const line = inWarehouse(wanted)
  const before = ledger.row(line)
  const { variant_id, offer } = wanted
  const mayReserve = offer === 'FOR_SALE'
  // Stock of a deleted product can still be moved, but no row or reservation is created without a product.
  if ((action === 'RESERVE' && !mayReserve) || (offer === 'UNKNOWN' && before.version === 0)) return { outcome: 'not_for_sale', variant_id }
  if (command.version !== null && command.version !== before.version) return { outcome: 'version_conflict', row: before }
  switch (action) {
    case 'RECEIVE':
      return receive(line, before, ledger)
    case 'ADJUST':
      return adjust(line, before, ledger)
    case 'RESERVE':
      return reserve(line, command.held_ms, facts, read, ledger)
    case 'DEDUCT':
    case 'RELEASE':
      return command.reservation_id === null
        ? endOldest(line, action, facts, read, ledger)
        : endNamed(line, action, command.reservation_id, facts, read, ledger)
  }
}

/**
 * Returns the line with its warehouse.
 * @throws RangeError for a line without a warehouse; only commands about carts may contain such lines
 */
function inWarehouse({ variant_id, warehouse_id, quantity }: WantedLine): StockLine {
  if (warehouse_id === null) throw new RangeError(`the line of variant ${variant_id} names no warehouse`)
  return { variant_id, warehouse_id, quantity }
}

function receive(line: StockLine, before: StockRow, ledger: StockLedger): InventoryAnswer {
  if (!hasRoom(line, before)) return { outcome: 'too_much', row: before }
  if (before.version === 0 && ledger.rowsOf(line.variant_id).length >= MOST_WAREHOUSES)
    return { outcome: 'too_many_warehouses', row: before }
  ledger.stock('RECEIVE', line)
  return { outcome: 'done', row: ledger.row(line), reservations: [] }
}

function adjust(line: StockLine, before: StockRow, ledger: StockLedger): InventoryAnswer {
  if (before.version === 0) return { outcome: 'no_row', row: before }
  if (before.available + line.quantity < 0) return outOfStock(before)
  if (!hasRoom(line, before)) return { outcome: 'too_much', row: before }
  ledger.stock('ADJUST', line)
  return { outcome: 'done', row: ledger.row(line), reservations: [] }
}

function hasRoom({ quantity }: StockLine, { available, reserved }: StockRow): boolean {
  return available + reserved + quantity <= MOST_UNITS
}

function reserve(
  line: StockLine,
  heldMs: number,
  { productId, now, commandId }: InventoryFacts,
  read: StockReader,
  ledger: StockLedger,
): InventoryAnswer {
  const before = ledger.row(line)
  const reservation_id = reservationIdOf(commandId)
  // A repeated command may find its own reservation here, because a reservation that lasts a day is still open when its
  // command is no longer remembered.
  const open = read.reservation(reservation_id)
  if (open !== undefined)
    return { outcome: 'done', row: before, reservations: [{ reservation_id, quantity: open.lines[0].quantity, ends_at: open.ends_at }] }
  if (before.available < line.quantity) return outOfStock(before)
  const ends_at = now + heldMs
  ledger.reserve({ reservation_id, product_id: productId, is_part: false, ends_at, lines: [line] })
  return { outcome: 'done', row: ledger.row(line), reservations: [{ reservation_id, quantity: line.quantity, ends_at }] }
}

/**
 * Returns the id of the reservation that a command opens. Repetitions of the command get the same id. The prefix
 * distinguishes ids of reservations from ids of carts.
 */
function reservationIdOf(commandId: string): string {
  return `r-${commandId}`
}

function endNamed(
  line: StockLine,
  how: Ending,
  reservationId: string,
  { now }: InventoryFacts,
  read: StockReader,
  ledger: StockLedger,
): InventoryAnswer {
  const reservation = read.reservation(reservationId)
  const refuse = (outcome: InventoryRefusal): InventoryAnswer => ({ outcome, row: ledger.row(line) })
  if (reservation === undefined) return refuse('reservation_ended')
  if (reservation.is_part) return refuse('reservation_in_cart')
  const [held] = reservation.lines
  const isOfRow = held.variant_id === line.variant_id && held.warehouse_id === line.warehouse_id
  if (!isOfRow || now > reservation.ends_at || line.quantity > held.quantity) return refuse('reservation_ended')
  ledger.endUnits(reservation, line.quantity, how)
  const { reservation_id, ends_at } = reservation
  return { outcome: 'done', row: ledger.row(line), reservations: [{ reservation_id, quantity: line.quantity, ends_at }] }
}

/**
 * Ends the wanted number of units of a row's reservations. Begins with the reservation that ends first. Leaves out
 * parts of carts, and reservations that are no longer open at the time of the command.
 */
function endOldest(line: StockLine, how: Ending, { now }: InventoryFacts, read: StockReader, ledger: StockLedger): InventoryAnswer {
  const before = ledger.row(line)
  if (before.reserved < line.quantity) return { outcome: 'reservation_ended', row: before }
  const { taken, refusal } = oldestUnits(line, read.openFrom(line, Math.max(now, before.first_end)))
  // Records a time before which no open reservation ends, so that later scans begin there. Otherwise, they would have
  // to skip the entries of ended reservations, because the database keeps deleted entries for a while.
  if (refusal !== undefined) {
    ledger.passOver(line, taken.length === 0 ? NOTHING_OPEN : taken[0].ends_at)
    return { outcome: refusal, row: ledger.row(line) }
  }
  for (const { reservation_id, quantity } of taken) ledger.endUnits(read.reservation(reservation_id)!, quantity, how)
  ledger.passOver(line, taken[taken.length - 1].ends_at)
  return { outcome: 'done', row: ledger.row(line), reservations: taken }
}

/**
 * Finds the reservations from which the quantity of a line can be taken, and how many units to take from each. If the
 * reservations do not suffice, or if the command would end too many of them, returns a refusal and the reservations
 * found so far.
 */
function oldestUnits(
  { quantity }: StockLine,
  open: Iterable<OpenReservation>,
): { readonly taken: OpenReservation[]; readonly refusal?: InventoryRefusal } {
  const taken: OpenReservation[] = []
  let wanted = quantity
  for (const one of open) {
    if (taken.length === MOST_RESERVATIONS_PER_COMMAND) return { taken, refusal: 'too_many_reservations' }
    const units = Math.min(wanted, one.quantity)
    taken.push({ ...one, quantity: units })
    wanted -= units
    if (wanted === 0) return { taken }
  }
  return { taken, refusal: 'reservation_ended' }
}

function outOfStock({ variant_id, warehouse_id, available }: StockRow): InventoryAnswer {
  return { outcome: 'out_of_stock', variant_id, warehouse_id, available }
}
