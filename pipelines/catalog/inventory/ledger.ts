import { rowName, type StockKey } from '../../../schemas/catalog/inventory/keys.ts'
import type { InventoryChange, InventoryMovement, StockLine, StockReservation, StockRow } from '../../../schemas/catalog/types.ts'
import type { StockReader } from './stock.ts'

/** What caused a change to the stock, and when the change happened. */
export interface Cause {
  readonly productId: number
  /** Epoch ms. */
  readonly at: number
  /** The command that caused the movement; null when a cart has ended or a reservation has expired. */
  readonly commandId: string | null
}

/** A change to a reservation. `before` or `after` is undefined if the reservation was not open at that time. */
export interface ReservationChange {
  readonly before: StockReservation | undefined
  readonly after: StockReservation | undefined
}

/** The changes that a decision makes. */
export interface StockChanges {
  /** The changed rows after the decision, including rows in which only `first_end` has changed. */
  readonly rows: readonly StockRow[]
  readonly reservations: readonly ReservationChange[]
  /** The stock movements, in the order in which they happened. */
  readonly movements: readonly InventoryChange[]
}

/** The ways in which an open reservation loses units. */
export type Ending = 'DEDUCT' | 'RELEASE' | 'EXPIRE'

/**
 * Collects the changes that one decision makes to a product's stock. Reads include these changes. Callers check the
 * conditions first; a change that would break an invariant of the stock throws.
 */
export interface StockLedger {
  row(key: StockKey): StockRow
  /** The existing rows of a variant, including the changes so far. */
  rowsOf(variantId: number): StockRow[]
  /** Adds or removes available units, which can be reserved. */
  stock(kind: 'RECEIVE' | 'ADJUST', line: StockLine): void
  /** Opens a reservation. */
  reserve(reservation: StockReservation): void
  /** Ends a whole reservation. */
  end(reservation: StockReservation, how: Ending): void
  /** Records that the open reservations of a row, apart from parts of carts, all end at `before` or later. */
  passOver(key: StockKey, before: number): void
  /** Ends units of a reservation that has one line. The reservation ends when none of its units is left. */
  endUnits(reservation: StockReservation, quantity: number, how: Ending): void
  /** Sets a new end time for a reservation. */
  extend(reservation: StockReservation, endsAt: number): void
  readonly changes: StockChanges
}

/**
 * Maximum number of units in a row, available and reserved together. Each of the two numbers is an Avro int. Neither
 * may overflow, even when all reserved units become available.
 */
export const MOST_UNITS = 2 ** 31 - 1
/** A time after the end of any reservation, epoch ms. It marks rows without open reservations. */
export const NOTHING_OPEN = 8_640_000_000_000_000

export function stockLedger(read: StockReader, { productId, at, commandId }: Cause): StockLedger {
  const rows = new Map<string, StockRow>()
  const reservations = new Map<string, ReservationChange>()
  const movements: InventoryChange[] = []

  function row(key: StockKey): StockRow {
    return rows.get(rowName(key)) ?? read.row(key) ?? emptyRow(key)
  }

  function move(kind: InventoryMovement, line: StockLine, by: { available: number; reserved: number }, of?: StockReservation): void {
    const before = row(line)
    const available = before.available + by.available
    const reserved = before.reserved + by.reserved
    if (available < 0 || reserved < 0 || available + reserved > MOST_UNITS)
      throw new RangeError(`${kind} of ${line.quantity} would leave ${available} available and ${reserved} reserved of ${rowName(line)}`)
    const after = { ...before, available, reserved, version: before.version + 1 }
    rows.set(rowName(line), after)
    movements.push({
      variant_id: line.variant_id,
      product_id: productId,
      warehouse_id: line.warehouse_id,
      kind,
      quantity: line.quantity,
      reservation_id: of?.reservation_id ?? null,
      available,
      reserved,
      version: after.version,
      ends_at: kind === 'RESERVE' || kind === 'EXPIRE' ? (of?.ends_at ?? null) : null,
      command_id: commandId,
      at,
    })
  }

  function change(before: StockReservation | undefined, after: StockReservation | undefined): void {
    const { reservation_id } = (after ?? before)!
    const first = reservations.get(reservation_id)
    reservations.set(reservation_id, { before: first === undefined ? before : first.before, after })
  }

  function endLine(line: StockLine, how: Ending, of: StockReservation): void {
    move(how, line, { available: how === 'DEDUCT' ? 0 : line.quantity, reserved: -line.quantity }, of)
  }

  function passOver(key: StockKey, before: number): void {
    const found = row(key)
    if (found.first_end !== before) rows.set(rowName(key), { ...found, first_end: before })
  }

  return {
    row,
    passOver,
    rowsOf(variantId) {
      const stored = Array.from(read.rowsOf(variantId), row)
      const made = [...rows.values()].filter(
        (one) => one.variant_id === variantId && stored.every((other) => rowName(other) !== rowName(one)),
      )
      return [...stored, ...made]
    },
    stock: (kind, line) => move(kind, line, { available: line.quantity, reserved: 0 }),
    reserve(reservation) {
      for (const line of reservation.lines) {
        move('RESERVE', line, { available: -line.quantity, reserved: line.quantity }, reservation)
        if (!reservation.is_part) passOver(line, Math.min(row(line).first_end, reservation.ends_at))
      }
      change(undefined, reservation)
    },
    end(reservation, how) {
      for (const line of reservation.lines) endLine(line, how, reservation)
      change(reservation, undefined)
    },
    endUnits(reservation, quantity, how) {
      const [line] = reservation.lines
      endLine({ ...line, quantity }, how, reservation)
      const left = line.quantity - quantity
      change(reservation, left === 0 ? undefined : { ...reservation, lines: [{ ...line, quantity: left }] })
    },
    extend(reservation, endsAt) {
      change(reservation, { ...reservation, ends_at: endsAt })
    },
    get changes() {
      return { rows: [...rows.values()], reservations: [...reservations.values()], movements }
    },
  }
}

function emptyRow({ variant_id, warehouse_id }: StockKey): StockRow {
  return { variant_id, warehouse_id, available: 0, reserved: 0, version: 0, first_end: 0 }
}
