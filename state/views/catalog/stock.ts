import type { StockRow } from '../../../schemas/catalog/types.ts'
import { type ListReader, type NOT_CAUGHT_UP, type View, type ViewReader, viewTag, withCaughtUp } from '../view.ts'

/**
 * Stock of each variant. Fed by the topic `inventory-decisions`. The view and the topic are partitioned by product. A
 * partition of the view also contains results of commands; see ../results.ts.
 *
 * | key | value |
 * |---|---|
 * | `{catalog-stock:<p>}:variant:<variant_id>` | hash: warehouse_id → `<available> <reserved> <version>` |
 */
export const STOCK_VIEW = 'catalog-stock'

/** The stock of a variant in a warehouse, as clients see it. */
export type ShownStock = Omit<StockRow, 'first_end'>

export const stockView: View<string, StockRow> = {
  name: STOCK_VIEW,
  operationsFor(partition, name, row) {
    const separator = name.indexOf(':')
    const key = variantKey(partition, name.slice(0, separator))
    const field = name.slice(separator + 1)
    if (row === null) return [{ op: 'hdel', key, field }]
    return [{ op: 'hset', key, fields: { [field]: `${row.available} ${row.reserved} ${row.version}` } }]
  },
}

/**
 * Reads the stock of a variant in each warehouse.
 * @param partition the partition of the variant's product
 */
export async function readStock(
  reader: Pick<ViewReader, 'get'> & Pick<ListReader, 'hgetall'>,
  partition: number,
  variantId: number,
): Promise<ShownStock[] | typeof NOT_CAUGHT_UP> {
  const found = await withCaughtUp(reader, STOCK_VIEW, partition, reader.hgetall(variantKey(partition, String(variantId))))
  if (typeof found === 'symbol') return found
  const rows = Object.entries(found).map(([warehouse_id, text]) => {
    const [available, reserved, version] = text.split(' ').map(Number)
    return { variant_id: variantId, warehouse_id, available, reserved, version }
  })
  return rows.sort((a, b) => (a.warehouse_id < b.warehouse_id ? -1 : 1))
}

function variantKey(partition: number, variantId: string): string {
  return `${viewTag(STOCK_VIEW, partition)}:variant:${variantId}`
}
