import type { SkuOwner } from '../../../schemas/catalog/types.ts'
import type { View } from '../view.ts'

/** Has nothing but results of commands about skus: see results.ts. Fed by `sku-decisions` and partitioned like it. */
export const catalogSkusView: View<string, SkuOwner> = { name: 'catalog-skus', operationsFor: () => [] }
