import type { DemoClient, Reply } from '../http/client.ts'
import { DEMO_CATEGORIES, DEMO_SELLERS, type DemoSeller, demoProducts } from './goods.ts'

/** A variant that the demo sells. */
export interface OfferedVariant {
  readonly productId: number
  readonly variantId: number
  readonly seller: DemoSeller
  readonly cents: number
}

const ADMIN = { subject: 'demo-catalog', scope: 'admin' }
const PRODUCTS_PER_SELLER = 20
const CENTS_PER_UNIT = 100

export const sellerCaller = ({ id }: DemoSeller) => ({ subject: id, scope: 'seller' })

/**
 * Stores the categories and sellers, and creates products for sellers that have none. Returns the variants on offer.
 * @param say prints a message about each refused product and each failed request. Existing products that cannot be read
 * are skipped without a message
 */
export async function fillCatalogue(client: DemoClient, seed: number, say: (text: string) => void): Promise<OfferedVariant[]> {
  const must = (what: string, { status, code }: Reply): boolean => {
    if (code !== '') say(`the request for ${what} failed: ${status} ${code}`)
    return code === ''
  }
  for (const { id, body } of DEMO_CATEGORIES) must(`category ${id}`, await client.ask(ADMIN, 'PUT', `/api/v1/categories/${id}`, body))
  const offered: OfferedVariant[] = []
  for (const seller of DEMO_SELLERS) {
    must(`seller ${seller.id}`, await client.ask(ADMIN, 'PUT', `/api/v1/sellers/${seller.id}`, seller.body))
    const own = await client.ask(sellerCaller(seller), 'GET', '/api/v1/seller/products?limit=100')
    if (!must(`the list of seller ${seller.id}`, own)) continue
    if (own.body.total === 0) {
      const products = demoProducts(seed, seller, PRODUCTS_PER_SELLER)
      const created = await client.ask(sellerCaller(seller), 'POST', '/api/v1/seller/products/bulk', { products })
      if (!must(`the products of seller ${seller.id}`, created)) continue
      for (const { status, product, error } of created.body.results) {
        if (status === 201) offered.push(...variantsOf(product, seller))
        else say(`a product of seller ${seller.id} was refused: ${status} ${error}`)
      }
    } else {
      for (const { product_id } of own.body.products) {
        const { code, body } = await client.ask(sellerCaller(seller), 'GET', `/api/v1/products/${product_id}`)
        if (code === '') offered.push(...variantsOf(body, seller))
      }
    }
  }
  return offered
}

// biome-ignore lint/suspicious/noExplicitAny: an answer of the API
function variantsOf({ product_id, variants }: any, seller: DemoSeller): OfferedVariant[] {
  // biome-ignore lint/suspicious/noExplicitAny: an answer of the API
  return variants.map(({ variant_id, price }: any) => ({
    productId: product_id,
    variantId: variant_id,
    seller,
    cents: Math.round(price * CENTS_PER_UNIT),
  }))
}
