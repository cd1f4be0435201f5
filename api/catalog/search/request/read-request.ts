import { ApiError } from '../../../kit/errors.ts'
import type { CategoryTree } from '../../categories/tree.ts'
import { catalogErrors } from '../../errors.ts'
import { attributeName, attributeValue, type SearchParameters } from './parameters.ts'
import type { SearchRequest } from './search-request.ts'

/** Turns checked parameters into a search request. Throws ApiError `unknown_category`, `not_ready`. */
export function readRequest(query: SearchParameters, categories: () => CategoryTree): SearchRequest {
  const category = query.category === undefined ? undefined : chosenCategory(query.category, categories())
  return {
    q: query.q,
    filters: {
      ...(category !== undefined && { categories: category.ids }),
      priceMin: query.price_min,
      priceMax: query.price_max,
      brands: query.brand,
      ratingMin: query.rating_min,
      attributes: attributesByName(query.attr),
    },
    category: category?.id,
    sort: query.sort,
    place: query.cursor === undefined ? { kind: 'page', page: query.page ?? 1 } : { kind: 'cursor', cursor: query.cursor },
    pageSize: query.page_size,
    explain: query.explain,
  }
}

function chosenCategory(idOrPath: string, tree: CategoryTree) {
  const category = tree.resolve(idOrPath)
  if (category === undefined) {
    const details = [{ path: 'query.category', message: 'does not name a category' }]
    throw new ApiError(catalogErrors.unknown_category, { details })
  }
  const { category_id: id } = category
  return { id, ids: tree.descendantsOf(id).map(String) }
}

function attributesByName(attributes: readonly string[]): Map<string, readonly string[]> {
  const byName = new Map<string, readonly string[]>()
  for (const attribute of attributes) {
    const name = attributeName(attribute)
    const values = byName.get(name) ?? []
    const value = attributeValue(attribute)
    if (!values.includes(value)) byName.set(name, [...values, value])
  }
  return byName
}
