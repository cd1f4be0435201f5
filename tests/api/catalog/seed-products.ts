import { kafkaTransport } from '../../../kafka/client/index.ts'
import { registryClient } from '../../../kafka/registry.ts'
import { silentLog } from '../../../pipelines/engine/testing.ts'
import { systemRuntime } from '../../../runtime/system.ts'
import { variantIdOf } from '../../../schemas/catalog/ids.ts'
import { productDecisions } from '../../../schemas/catalog/products/topics.ts'
import type { CatalogProductState } from '../../../schemas/catalog/types.ts'
import { topicProducer } from '../../../tools/topic-producer.ts'

interface SeededProduct {
  readonly productId: number
  /** Number of variants. All of them are for sale. */
  readonly variants: number
}

/**
 * Writes products to Kafka in the form in which the products topology writes them, for tests and benchmarks that need
 * products but do not run this topology.
 */
export async function seedProducts(
  servers: { readonly kafka: string; readonly registry: string },
  products: readonly SeededProduct[],
): Promise<void> {
  const transport = kafkaTransport({ brokers: [servers.kafka], clientId: 'seed' }, { runtime: systemRuntime(silentLog) })
  await transport.connect()
  const producer = await topicProducer(productDecisions)(transport, registryClient({ url: servers.registry }))
  for (const product of products) producer.send(String(product.productId), { view: stateOf(product), result: null }, Date.now())
  await producer.flush()
  await producer.close()
  await transport.close()
}

function stateOf({ productId, variants }: SeededProduct): CatalogProductState {
  const numbers = Array.from({ length: variants }, (_, index) => index + 1)
  const now = Date.now()
  return {
    product: {
      product_id: productId,
      seller_id: 1n,
      title: `Product ${productId}`,
      description: '',
      category_id: 1,
      brand: null,
      status: 'ACTIVE',
      created_at: now,
      updated_at: now,
      version: 1,
      revision: 1,
      variants: numbers.map((number) => ({
        variant_id: variantIdOf(productId, number),
        sku: `${productId}-${number}`,
        attributes: {},
        price_cents: 1_000,
        compare_price: null,
        weight_grams: null,
        status: 'ACTIVE',
      })),
      images: [],
    },
    pricing: numbers.map(() => ({ lowest_cents: 1_000, highest_cents: 1_000, regular: null, periods: [] })),
  }
}
