import { type InventoryAnswer, inventoryFlow } from '../../../schemas/catalog/inventory/flow.ts'
import { rowName } from '../../../schemas/catalog/inventory/keys.ts'
import { inventoryChanged, reservationOutcomes } from '../../../schemas/catalog/inventory/topics.ts'
import type { CartOutcome, InventoryCommand, StockRow } from '../../../schemas/catalog/types.ts'
import {
  type Context,
  DECIDING,
  decideCommands,
  drop,
  type OnError,
  type RecordContext,
  type RowPrefetch,
  storedRows,
  topology,
} from '../../engine/index.ts'
import { decideInventory } from './decide.ts'
import { followCart } from './decide-part.ts'
import { type StockLedger, stockLedger } from './ledger.ts'
import { rowChanges } from './row-changes.ts'
import type { StockReader } from './stock.ts'
import { stockReader, stockStores } from './stores.ts'

/**
 * Interval between checks for expired reservations. Because of EXPIRES_AFTER_MS, a reservation usually expires one
 * to two seconds after its end time.
 */
const EXPIRE_EVERY_MS = 1_000
/**
 * Maximum number of reservations that one tick ends. Ending this many takes tens of milliseconds, during which commands
 * wait. The next tick ends the rest. The limit is twice the number of reservations that a partition is expected to open
 * between two ticks, so the ticks keep up.
 */
const EXPIRED_PER_TICK = 1_000
/**
 * Policy for records on which a processor fails or whose output cannot be written. They become dead letters, so that a
 * single bad record does not stop all changes to the stock.
 */
const SKIPPED: OnError = { process: 'dead-letter', produce: 'dead-letter' }

/** The only topology that changes stock. It does so on request, when a cart ends, and when a reservation expires. */
export const inventory = topology(
  'inventory',
  function declareInventory(t) {
    const stores = stockStores()
    const { stock, reservations, open, ends } = stores

    const deciding = decideCommands<InventoryCommand, StockRow, StockRow, InventoryAnswer>(t, {
      flow: inventoryFlow,
      store: stock,
      judgedBy: 'append-time',
      rows: { stores: [reservations, open, ends], reads },
      decide(_none, command, { key, now, commandId, partition, rows }) {
        const productId = Number(key)
        const { answer, changes } = decideInventory(command, { productId, now, commandId }, stockReader(stores, rows, productId))
        return { answer, ...rowChanges(stores, changes, partition) }
      },
      view: (row) => row,
      emits: [inventoryChanged],
    })

    function reads({ lines, reservation_id }: InventoryCommand, key: string, rows: RowPrefetch): void {
      for (const { variant_id, warehouse_id } of lines)
        if (warehouse_id !== null) rows.prefetch(stock, rowName({ variant_id, warehouse_id }))
      if (reservation_id === null) return
      const reservation = { product_id: Number(key), reservation_id }
      rows.prefetch(reservations, reservation)
      rows.prefetch(ends, reservation)
    }

    /** Changes stock for a reason other than a command: a cart has ended, or a reservation has expired. */
    function move(productId: number, at: number, ctx: Context, work: (ledger: StockLedger, read: StockReader) => void): void {
      const read = stockReader(stores, storedRows, productId)
      const ledger = stockLedger(read, { productId, at, commandId: null })
      work(ledger, read)
      deciding.apply(String(productId), rowChanges(stores, ledger.changes, ctx.partition), ctx)
    }

    function follow(outcome: CartOutcome, ctx: RecordContext<string>) {
      let isKnown = false
      move(outcome.product_id, ctx.timestamp, ctx, (ledger, read) => {
        isKnown = followCart(outcome, read, ledger)
      })
      // If the part is missing, it expired before this record arrived. Parts outlive their carts by at least 45 s, so
      // this happens only if the record arrives that late.
      return isKnown ? undefined : drop('outcome_without_part')
    }

    function expire(now: number, ctx: Context): void {
      for (const { key } of ends.due(now, EXPIRED_PER_TICK)) {
        const reservation = reservations.get(key)
        if (reservation === undefined) ends.cancel(key)
        else move(key.product_id, now, ctx, (ledger) => ledger.end(reservation, 'EXPIRE'))
      }
    }

    t.source(reservationOutcomes, { onError: SKIPPED }).process(
      'follow-cart',
      {
        reads({ reservation_id, product_id, lines }) {
          for (const line of lines) stock.prefetch(rowName(line))
          reservations.prefetch({ product_id, reservation_id })
          ends.prefetch({ product_id, reservation_id })
        },
        stores: deciding.stores,
        emits: deciding.emits,
      },
      follow,
    )
    const { stores: used, emits } = deciding
    deciding.stream.tick('expire', { everyMs: EXPIRE_EVERY_MS, clock: 'caught-up', stores: used, emits }, expire)
  },
  DECIDING,
)
