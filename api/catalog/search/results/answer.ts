import { badgesAt } from '../../../../schemas/catalog/documents/badges.ts'
import type { ProductSearch } from '../../../../schemas/catalog/types.ts'
import type { CategoryTree } from '../../categories/tree.ts'
import { imageUrl, THUMBNAIL_WIDTH } from '../../images/address.ts'
import type { Facets } from '../engine/facets.ts'
import { cursorText } from '../request/cursor.ts'
import type { SearchRequest } from '../request/search-request.ts'
import type { Found, Hit } from '../searcher.ts'
import { plannedWords } from '../text/plan.ts'
import { didYouMean } from './did-you-mean.ts'
import { explanationOf } from './explanation.ts'

export interface AnswerDeps {
  readonly currency: string
  readonly categories: () => CategoryTree
  /** Returns the names of sellers by id. */
  sellerNames(ids: readonly string[]): Promise<ReadonlyMap<string, string>>
  /** Base URL of all absolute URLs in answers. */
  readonly publicUrl: string
  /** Epoch ms. */
  now(): number
}

const CENTS = 100
export const LOGGED_PRODUCTS = 10

/** Returns the body of the answer. Throws ApiError `not_ready` until the categories are read. */
export async function answerOf(request: SearchRequest, found: Found, deps: AnswerDeps) {
  const { hits, facets, plan, moment } = found
  const shown = hits.slice(0, request.pageSize)
  const tree = deps.categories()
  const names = await deps.sellerNames([...new Set(shown.map(({ source }) => source.seller_id))])
  const last = shown.at(-1)
  const hasNext = hits.length > request.pageSize && last !== undefined
  const corrections = Object.fromEntries(
    (plan ? plannedWords(plan) : []).filter((word) => word.corrections.length > 0).map((word) => [word.text, word.corrections]),
  )
  return {
    results: shown.map((hit) => resultOf(hit, request, found, { tree, names, ...deps })),
    facets: facetsAnswer(facets, tree),
    total: facets.total,
    page: request.place.kind === 'page' ? request.place.page : null,
    page_size: request.pageSize,
    next_cursor: hasNext ? cursorText({ after: last.after, moment, breadth: plan?.breadth ?? 'all', corrections }, request) : null,
    did_you_mean: request.q === undefined || plan === undefined ? null : didYouMean(request.q, plan),
    matched: plan?.breadth ?? null,
  }
}

export type SearchAnswerBody = Awaited<ReturnType<typeof answerOf>>

type Shown = AnswerDeps & { readonly tree: CategoryTree; readonly names: ReadonlyMap<string, string> }

function resultOf(hit: Hit, { explain }: SearchRequest, { moment }: Found, { currency, tree, names, publicUrl, now }: Shown) {
  const { source } = hit
  const category_id = Number(source.category)
  return {
    product_id: source.product_id,
    title: source.title,
    brand: source.brand,
    price: { amount: source.price_cents / CENTS, currency, was: source.was_cents === null ? null : source.was_cents / CENTS },
    rating: { avg: source.rating, count: source.rating_count },
    thumbnail_url: source.thumbnail === null ? null : imageUrl(publicUrl, source.thumbnail, THUMBNAIL_WIDTH),
    badges: badgesAt(source.badges, source.created_at, now()),
    in_stock: source.in_stock !== 'out_of_stock',
    stock: source.in_stock,
    category: { category_id, name: tree.get(category_id)?.name ?? null },
    seller: { id: source.seller_id, name: names.get(source.seller_id) ?? `seller-${source.seller_id}` },
    ...(explain && { explanation: explanationOf(hit, moment) }),
  }
}

function facetsAnswer({ total: _total, price_stats, categories, ...facets }: Facets, tree: CategoryTree) {
  return {
    ...facets,
    price_stats: price_stats && {
      min: price_stats.min / CENTS,
      max: price_stats.max / CENTS,
      avg: Math.round(price_stats.avg) / CENTS,
    },
    categories: categories.map(({ category_id, count }) => ({
      category_id,
      name: tree.get(category_id)?.name ?? null,
      path: tree.slugPathOf(category_id) ?? null,
      count,
    })),
  }
}

/** Returns the row that describes a search in the table `product_searches`. The row does not identify the caller. */
export function searchRecord(request: SearchRequest, body: SearchAnswerBody, tookMs: number, at: number): ProductSearch {
  const { brands, priceMin = null, priceMax = null, ratingMin = null, attributes } = request.filters
  return {
    query: request.q ?? '',
    category_id: request.category ?? null,
    brands: [...brands],
    attributes: [...attributes].flatMap(([name, values]) => values.map((value) => `${name}:${value}`)),
    price_min_cents: priceMin,
    price_max_cents: priceMax,
    rating_min: ratingMin,
    sort: request.sort,
    page: body.page ?? 0,
    breadth: body.matched ?? '',
    did_you_mean: body.did_you_mean,
    total: body.total,
    product_ids: body.results.slice(0, LOGGED_PRODUCTS).map(({ product_id }) => product_id),
    took_ms: tookMs,
    at,
  }
}
