import { MOST_CATEGORIES } from '../../../schemas/catalog/documents/limits.ts'
import { categories } from '../../../schemas/catalog/documents/topics.ts'
import type { Category } from '../../../schemas/catalog/types.ts'
import { type Answer, cacheableAnswer, JSON_TYPE, jsonAnswer } from '../../kit/answer.ts'
import { ApiError, errors, invalidRequest } from '../../kit/errors.ts'
import type { Facts } from '../../kit/facts.ts'
import { PRIVATE } from '../../kit/headers.ts'
import { bind } from '../../kit/route.ts'
import { catalogErrors } from '../errors.ts'
import type { CatalogPart } from '../part.ts'
import { type CategoryFault, categoryFault, MOST_LEVELS } from './check.ts'
import { listCategoriesRoute, putCategoryRoute, readCategoryRoute } from './routes.ts'
import type { CategoryTable } from './table.ts'
import type { CategoryTree } from './tree.ts'

export interface CategoriesDeps {
  readonly facts: Pick<Facts, 'publish'>
  readonly categories: CategoryTable
}

/**
 * Clients may reuse the answer for one second. After that they revalidate it, and receive a 304 if nothing has changed.
 */
const CACHED = { 'Content-Type': JSON_TYPE, 'Cache-Control': 'public, max-age=1' } as const

/** Creates the routes for product categories. */
export function categoriesPart({ facts, categories: table }: CategoriesDeps): CatalogPart {
  return {
    probes: table.probes,
    close: table.close,
    routes: [
      bind(putCategoryRoute, async ({ params: { category_id }, body }) => {
        const category: Category = { category_id, parent_id: body.parent_id ?? null, name: body.name, slug: body.slug }
        const fault = categoryFault(table.tree, category)
        if (fault !== undefined) throw refusal(fault)
        await facts.publish(categories, String(category_id), category)
        await table.untilSeen(category)
        // Another administrator may have changed the category in the meantime, so the answer shows its current state.
        return jsonAnswer(200, shown(table.tree, table.tree.get(category_id) ?? category), PRIVATE)
      }),
      bind(listCategoriesRoute, ({ query: { page, limit } }) => {
        const { tree } = table
        const found = tree.all.slice((page - 1) * limit, page * limit)
        return cached({ categories: found.map((category) => shown(tree, category)), total: tree.size, page })
      }),
      bind(readCategoryRoute, ({ params: { category_id } }) => {
        const { tree } = table
        const category = tree.get(category_id)
        if (category === undefined) throw new ApiError(errors.not_found)
        return cached({ ...shown(tree, category), children: tree.childrenOf(category_id).map((child) => shown(tree, child)) })
      }),
    ],
  }
}

function cached(value: unknown): Answer {
  return cacheableAnswer(JSON.stringify(value), CACHED)
}

function shown(tree: CategoryTree, { category_id, parent_id, name, slug }: Category) {
  const category_path = tree.pathOf(category_id).map((above) => above.name)
  return { category_id, parent_id, name, slug, path: tree.slugPathOf(category_id) ?? slug, category_path }
}

function refusal(fault: CategoryFault): ApiError {
  switch (fault) {
    case 'unknown_parent':
      return new ApiError(catalogErrors.unknown_category, { details: [{ path: 'body.parent_id', message: 'does not name a category' }] })
    case 'cycle':
      return invalidRequest('body.parent_id', 'names the category itself or one of its descendants')
    case 'too_deep':
      return invalidRequest('body.parent_id', `would make a path of more than ${MOST_LEVELS} categories`)
    case 'slug_taken':
      return invalidRequest('body.slug', 'is the slug of another category with the same parent')
    case 'too_many':
      return invalidRequest('path.category_id', `would exceed the limit of ${MOST_CATEGORIES} categories`)
  }
}
