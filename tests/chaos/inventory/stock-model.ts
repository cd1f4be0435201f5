/**
 * Model of stock that shares no code with the service. It uses plain lists and linear searches. The property test of
 * the decisions compares every answer with this model, and the verdict of a chaos run replays the log against it.
 */
import type { InventoryAnswer } from '../../../schemas/catalog/inventory/flow.ts'
import type { CartOutcome, InventoryChange, InventoryCommand, StockLine } from '../../../schemas/catalog/types.ts'

/** A movement without its product, its cause and its times, which the model does not compute. */
export type ModelMovement = Pick<
  InventoryChange,
  'variant_id' | 'warehouse_id' | 'kind' | 'quantity' | 'reservation_id' | 'available' | 'reserved' | 'version'
>

interface ModelRow {
  readonly variant_id: number
  readonly warehouse_id: string
  available: number
  reserved: number
  version: number
  /** Sum of all received units and all adjustments. An adjustment may be negative. */
  received: number
  /** Number of units that were deducted. */
  sold: number
}

interface ModelReservation {
  readonly id: string
  readonly product: number
  /** Whether the reservation belongs to a cart. */
  readonly isPart: boolean
  endsAt: number
  readonly lines: { readonly row: ModelRow; quantity: number }[]
}

export interface ModelAnswer {
  readonly outcome: InventoryAnswer['outcome']
  readonly available?: number
  readonly reserved?: number
  readonly version?: number
  readonly reservations?: readonly { readonly reservation_id: string; readonly quantity: number; readonly ends_at: number }[]
  readonly lines?: readonly StockLine[]
  readonly ends_at?: number
}

export interface StockModel {
  readonly rows: readonly ModelRow[]
  readonly reservations: readonly ModelReservation[]
  /**
   * Decides a command, and applies its movements to the model.
   * @param now time at which the command takes effect, epoch ms
   */
  command(product: number, command: InventoryCommand, now: number, id: string): { answer: ModelAnswer; movements: ModelMovement[] }
  /**
   * Returns the answer to a command that moves no stock; undefined if the command would move stock. Does not change the
   * model.
   */
  refusal(product: number, command: InventoryCommand, now: number, id: string): ModelAnswer | undefined
  /**
   * Applies the end or the extension of a cart.
   * @returns undefined if the cart has no open reservation of this product
   */
  outcome(outcome: CartOutcome): ModelMovement[] | undefined
  /**
   * Expires the rest of a reservation.
   * @returns undefined if the reservation is not open
   */
  expire(product: number, reservationId: string): ModelMovement[] | undefined
  /** Describes each violated invariant of the stock. Returns an empty list if all invariants hold. */
  broken(): string[]
}

/** A reservation of a cart outlasts the cart by a minute. */
const PART_MS = 60_000
const INT_MAX = 2_147_483_647
const MOST_ENDED = 1_000

export function stockModel(): StockModel {
  const rows: ModelRow[] = []
  let reservations: ModelReservation[] = []

  function find(variant_id: number, warehouse_id: string): ModelRow | undefined {
    return rows.find((row) => row.variant_id === variant_id && row.warehouse_id === warehouse_id)
  }

  function moved(row: ModelRow, kind: InventoryChange['kind'], quantity: number, of: string | null): ModelMovement {
    switch (kind) {
      case 'RECEIVE':
      case 'ADJUST':
        row.available += quantity
        row.received += quantity
        break
      case 'RESERVE':
        row.available -= quantity
        row.reserved += quantity
        break
      case 'DEDUCT':
        row.reserved -= quantity
        row.sold += quantity
        break
      case 'RELEASE':
      case 'EXPIRE':
        row.reserved -= quantity
        row.available += quantity
    }
    row.version++
    const { variant_id, warehouse_id, available, reserved, version } = row
    return { variant_id, warehouse_id, kind, quantity, reservation_id: of, available, reserved, version }
  }

  function shown(outcome: ModelAnswer['outcome'], row: ModelRow | undefined): ModelAnswer {
    return { outcome, available: row?.available ?? 0, reserved: row?.reserved ?? 0, version: row?.version ?? 0 }
  }

  function endAll(of: ModelReservation, kind: 'DEDUCT' | 'RELEASE' | 'EXPIRE'): ModelMovement[] {
    reservations = reservations.filter((one) => one !== of)
    return of.lines.map(({ row, quantity }) => moved(row, kind, quantity, of.id))
  }

  function part(product: number, command: InventoryCommand, now: number): { answer: ModelAnswer; movements: ModelMovement[] } {
    const id = command.reservation_id as string
    if (command.action === 'RELEASE_PART') {
      const open = reservations.find((one) => one.id === id && one.product === product && one.isPart)
      return { answer: { outcome: 'released' }, movements: open === undefined ? [] : endAll(open, 'RELEASE') }
    }
    if (command.lines.some((line) => line.offer !== 'FOR_SALE')) return { answer: { outcome: 'not_for_sale' }, movements: [] }
    const taken = new Map<ModelRow, number>()
    const left = (row: ModelRow) => row.available - (taken.get(row) ?? 0)
    for (const named of [true, false])
      for (const line of command.lines) {
        if ((line.warehouse_id !== null) !== named) continue
        const choice = rows
          .filter((row) => row.variant_id === line.variant_id && (line.warehouse_id === null || row.warehouse_id === line.warehouse_id))
          .sort((a, b) => left(b) - left(a) || (a.warehouse_id < b.warehouse_id ? -1 : 1))
        if (choice.length === 0 || left(choice[0]) < line.quantity)
          return { answer: { outcome: 'out_of_stock', available: choice.length === 0 ? 0 : left(choice[0]) }, movements: [] }
        taken.set(choice[0], (taken.get(choice[0]) ?? 0) + line.quantity)
      }
    const lines = Array.from(taken, ([row, quantity]) => ({ row, quantity }))
    const endsAt = now + command.held_ms + PART_MS
    reservations.push({ id, product, isPart: true, endsAt, lines })
    const shownLines = lines.map(({ row, quantity }) => ({ variant_id: row.variant_id, warehouse_id: row.warehouse_id, quantity }))
    const movements = lines.map(({ row, quantity }) => moved(row, 'RESERVE', quantity, id))
    return { answer: { outcome: 'reserved', lines: shownLines, ends_at: endsAt }, movements }
  }

  function command(product: number, asked: InventoryCommand, now: number, id: string): ReturnType<StockModel['command']> {
    if (asked.action === 'RESERVE_PART' || asked.action === 'RELEASE_PART') return part(product, asked, now)
    const { variant_id, warehouse_id, quantity, offer } = asked.lines[0]
    const row = find(variant_id, warehouse_id as string)
    const refused = (outcome: ModelAnswer['outcome']) => ({ answer: shown(outcome, row), movements: [] })
    const isRefused = asked.action === 'RESERVE' ? offer !== 'FOR_SALE' : row === undefined && offer === 'UNKNOWN'
    if (isRefused) return { answer: { outcome: 'not_for_sale' }, movements: [] }
    const available = row?.available ?? 0
    const total = available + (row?.reserved ?? 0)
    if (asked.version !== null && asked.version !== (row?.version ?? 0)) return refused('version_conflict')

    switch (asked.action) {
      case 'RECEIVE': {
        if (total + quantity > INT_MAX) return refused('too_much')
        const target = row ?? {
          variant_id,
          warehouse_id: warehouse_id as string,
          available: 0,
          reserved: 0,
          version: 0,
          received: 0,
          sold: 0,
        }
        if (row === undefined) rows.push(target)
        const movements = [moved(target, 'RECEIVE', quantity, null)]
        return { answer: { ...shown('done', target), reservations: [] }, movements }
      }
      case 'ADJUST': {
        if (row === undefined) return refused('no_row')
        if (available + quantity < 0) return { answer: { outcome: 'out_of_stock', available }, movements: [] }
        if (total + quantity > INT_MAX) return refused('too_much')
        const movements = [moved(row, 'ADJUST', quantity, null)]
        return { answer: { ...shown('done', row), reservations: [] }, movements }
      }
      case 'RESERVE': {
        if (row === undefined || available < quantity) return { answer: { outcome: 'out_of_stock', available }, movements: [] }
        const made = { id: `r-${id}`, product, isPart: false, endsAt: now + asked.held_ms, lines: [{ row, quantity }] }
        reservations.push(made)
        const movements = [moved(row, 'RESERVE', quantity, made.id)]
        const answered = [{ reservation_id: made.id, quantity, ends_at: made.endsAt }]
        return { answer: { ...shown('done', row), reservations: answered }, movements }
      }
      case 'DEDUCT':
      case 'RELEASE': {
        const usable = (one: ModelReservation) => !one.isPart && one.lines[0].row === row && one.endsAt >= now
        if (asked.reservation_id === null && (row?.reserved ?? 0) < quantity) return refused('reservation_ended')
        let candidates: ModelReservation[]
        if (asked.reservation_id === null) {
          candidates = reservations.filter(usable).sort((a, b) => a.endsAt - b.endsAt || (a.id < b.id ? -1 : 1))
        } else {
          const named = reservations.find((one) => one.id === asked.reservation_id && one.product === product)
          if (named?.isPart) return refused('reservation_in_cart')
          candidates = named !== undefined && usable(named) ? [named] : []
        }
        const open = candidates.slice(0, MOST_ENDED).reduce((sum, { lines: [line] }) => sum + line.quantity, 0)
        if (open < quantity) return refused(candidates.length > MOST_ENDED ? 'too_many_reservations' : 'reservation_ended')
        const movements: ModelMovement[] = []
        const answered: { reservation_id: string; quantity: number; ends_at: number }[] = []
        let wanted = quantity
        for (const one of candidates) {
          if (wanted === 0) break
          const units = Math.min(wanted, one.lines[0].quantity)
          one.lines[0].quantity -= units
          wanted -= units
          movements.push(moved(one.lines[0].row, asked.action, units, one.id))
          answered.push({ reservation_id: one.id, quantity: units, ends_at: one.endsAt })
        }
        reservations = reservations.filter(({ lines }) => lines[0].quantity > 0)
        return { answer: { ...shown('done', row), reservations: answered }, movements }
      }
    }
  }

  /** @returns a function that restores the current state */
  function remember(): () => void {
    const before = rows.map((row) => ({ ...row }))
    const open = reservations.map((one) => ({ one, quantities: one.lines.map(({ quantity }) => quantity) }))
    return function restore() {
      rows.length = before.length
      for (const [index, row] of before.entries()) Object.assign(rows[index], row)
      reservations = open.map(({ one, quantities }) => {
        for (const [index, line] of one.lines.entries()) line.quantity = quantities[index]
        return one
      })
    }
  }

  return {
    rows,
    get reservations() {
      return reservations
    },
    command,
    refusal(product, asked, now, id) {
      const restore = remember()
      const { answer, movements } = command(product, asked, now, id)
      if (movements.length === 0) return answer
      restore()
      return undefined
    },
    outcome({ reservation_id, product_id, outcome, ends_at }) {
      const open = reservations.find((one) => one.id === reservation_id && one.product === product_id && one.isPart)
      if (open === undefined) return undefined
      if (outcome === 'EXTENDED') {
        open.endsAt = ends_at + PART_MS
        return []
      }
      return endAll(open, outcome === 'DEDUCTED' ? 'DEDUCT' : outcome === 'RELEASED' ? 'RELEASE' : 'EXPIRE')
    },
    expire(product, id) {
      const open = reservations.find((one) => one.id === id && one.product === product)
      return open === undefined ? undefined : endAll(open, 'EXPIRE')
    },
    broken() {
      return rows.flatMap((row) => {
        const open = reservations.flatMap(({ lines }) => lines).reduce((sum, line) => sum + (line.row === row ? line.quantity : 0), 0)
        const where = `variant ${row.variant_id} in ${row.warehouse_id}`
        return [
          ...(row.available < 0 ? [`${where}: ${row.available} available`] : []),
          ...(row.reserved !== open ? [`${where}: ${row.reserved} reserved, but ${open} in open reservations`] : []),
          ...(row.available + row.reserved + row.sold !== row.received
            ? [`${where}: available, reserved and sold units do not add up to the ${row.received} received units`]
            : []),
        ]
      })
    },
  }
}
