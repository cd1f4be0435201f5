import { setTimeout as delay } from 'node:timers/promises'
import { catalogDocuments, categories } from '../../../schemas/catalog/documents/topics.ts'
import type { CatalogDocument, Category } from '../../../schemas/catalog/types.ts'
import { topicProducer } from '../../../tools/topic-producer.ts'
import type { Plan } from './plan.ts'
import type { RecommendationsSystem } from './system.ts'

const LOOK_EVERY_MS = 200

export interface ProductIds {
  productOf(index: number): number
  categoryOf(index: number): number
}

/**
 * Writes the products and categories of a plan at their planned times. When the faults have ended, writes all remaining
 * ones at once, so that every product has a category in the end.
 */
export async function writeProducts(
  { transport, registry }: Pick<RecommendationsSystem, 'transport' | 'registry'>,
  plan: Pick<Plan, 'products' | 'categories'>,
  { productOf, categoryOf }: ProductIds,
  isOver: () => boolean,
): Promise<void> {
  const documents = await topicProducer(catalogDocuments)(transport, registry)
  const tree = await topicProducer(categories)(transport, registry)
  const startedAt = Date.now()
  let revision = 0
  const writes = [
    ...plan.categories.map((atMs, index) => ({ atMs, write: () => sendCategory(index) })),
    ...plan.products.map((each) => ({ atMs: each.atMs, write: () => sendProduct(each) })),
  ].sort((one, other) => one.atMs - other.atMs)

  function sendCategory(index: number): void {
    const category: Category = {
      category_id: categoryOf(index),
      parent_id: index === 0 ? null : categoryOf(0),
      name: `Category ${index}`,
      slug: `category-${index}`,
    }
    tree.send(String(category.category_id), category, Date.now())
  }

  function sendProduct({ product, form, category, isPublic }: Plan['products'][number]): void {
    revision++
    const id = productOf(product)
    documents.send(String(id), productDocument(id, { form, revision, categoryId: categoryOf(category), isPublic }), Date.now())
  }

  try {
    for (const { atMs, write } of writes) {
      const leftMs = () => startedAt + atMs - Date.now()
      for (let left = leftMs(); left > 0 && !isOver(); left = leftMs()) await delay(Math.min(left, LOOK_EVERY_MS))
      write()
      await Promise.all([documents.flush(), tree.flush()])
    }
  } finally {
    await documents.close()
    await tree.close()
  }
}

interface Form {
  readonly form: number
  readonly revision: number
  readonly categoryId: number
  readonly isPublic: boolean
}

function productDocument(id: number, { form, revision, categoryId, isPublic }: Form): CatalogDocument {
  return {
    product_id: id,
    is_public: isPublic,
    revision,
    seller_id: 7n,
    category_id: categoryId,
    title: isPublic ? `Product ${id} in form ${form}` : '',
    description: '',
    brand: form === 0 ? null : `Brand ${form}`,
    attributes: isPublic ? ['colour:red', `size:${form}`] : [],
    price_cents: isPublic ? 100 + revision : 0,
    was_cents: null,
    created_at: 1_700_000_000_000,
    thumbnail: null,
    rating_sum: 0,
    rating_count: 0,
    stars: [],
    in_stock: 'in_stock',
    sales_log: null,
    seller_rating: null,
    badges: [],
  }
}
