import type { StoredProduct } from '../../schemas/catalog/products/stored.ts'
import type { Caller } from '../kit/auth/verify.ts'

/**
 * Returns whether a caller may see a product. Everybody may see an active product. Any other product is visible to
 * administrators, and to its seller if the token has the scope `seller`.
 */
export function maySee(caller: Caller | undefined, { status, seller_id }: Pick<StoredProduct, 'status' | 'seller_id'>): boolean {
  if (status === 'ACTIVE') return true
  if (caller === undefined) return false
  return caller.scopes.has('admin') || (caller.scopes.has('seller') && caller.subject === seller_id)
}
