import type { SkuOwner } from '../../../schemas/catalog/types.ts'
import type { View } from '../view.ts'

/**
 * A view that contains only results of commands about SKUs; see ../results.ts. Fed by `sku-decisions` and partitioned
 * like it.
 */
export const catalogSkusView: View<string, SkuOwner> = { name: 'catalog-skus', operationsFor: () => [] }
