import { byteWriter } from '../../codec.ts'
import { avro } from '../../load.ts'
import type { CatalogProduct } from '../types.ts'

const products = avro('catalog/CatalogProduct').open(0, { get: () => undefined })

/** Returns the number of bytes that a product takes in a record. */
export function encodedBytes(product: CatalogProduct): number {
  const out = byteWriter()
  products.encode(product, out)
  return out.length
}
