import { LRUCache } from 'lru-cache'
import { badgesAt } from '../../../schemas/catalog/documents/badges.ts'
import type { StoredProduct } from '../../../schemas/catalog/products/stored.ts'
import { productDetails } from '../../../state/views/catalog/catalog-details.ts'
import { type Answer, cacheableAnswer, JSON_TYPE } from '../../kit/answer.ts'
import type { CategoryTree } from '../categories/tree.ts'
import { detailAnswer } from './answer.ts'
import { type DetailTexts, type IsKnownProduct, parsedDetail } from './read.ts'

/** A rendered page, with the fields of the product that decide who may see the page. */
export interface Rendered extends Pick<StoredProduct, 'status' | 'seller_id'> {
  readonly answer: Answer
}

/** The last page of a product, with all data from which it was rendered. */
interface Kept {
  readonly texts: DetailTexts
  readonly tree: CategoryTree
  readonly createdAt: number
  readonly badges: string
  readonly rendered: Rendered
}

export interface KeptPages {
  isKnown(productId: number): IsKnownProduct
  /** Returns the page of a product. Renders it again only if something that the page shows has changed. */
  page(productId: number, texts: DetailTexts, tree: CategoryTree): Rendered
}

export interface KeptPagesOptions {
  /** Base of absolute URLs. */
  readonly publicUrl: string
  readonly currency: string
  /** Epoch ms. */
  now(): number
}

/** Clients may cache the answer, but must revalidate it before each use. */
const PUBLIC = { 'Content-Type': JSON_TYPE, 'Cache-Control': 'public, no-cache' } as const
const OWN = { 'Content-Type': JSON_TYPE, 'Cache-Control': 'private, no-cache' } as const
/** Memory for all kept pages, enough for some 10,000 pages with descriptions of ordinary length. */
const MOST_BYTES = 64 * 2 ** 20
const BYTES_BESIDE_TEXTS = 1_000

/**
 * Renders pages of products, and keeps the last page of each product. Every request still reads the views, so an answer
 * is never stale. The cache only saves parsing and rendering.
 */
export function keptPages({ publicUrl, currency, now }: KeptPagesOptions): KeptPages {
  const pages = new LRUCache<number, Kept>({ maxSize: MOST_BYTES, sizeCalculation: bytesOf })

  function badgesNow(details: string | null, createdAt: number): string {
    return badgesAt(productDetails(details).badges, createdAt, now()).join()
  }

  function isSame(kept: Kept, texts: DetailTexts, tree: CategoryTree): boolean {
    return kept.tree === tree && sameTexts(kept.texts, texts) && kept.badges === badgesNow(texts.details, kept.createdAt)
  }

  return {
    isKnown: (productId) => (text, companions) => {
      const kept = pages.peek(productId)?.texts
      return kept !== undefined && kept.companions === companions && kept.product === text
    },
    page(productId, texts, tree) {
      const kept = pages.get(productId)
      if (kept !== undefined && isSame(kept, texts, tree)) return kept.rendered
      const detail = parsedDetail(texts)
      const { status, seller_id, category_id, created_at } = detail.product
      const categoryPath = tree.pathOf(category_id).map(({ name }) => name)
      const body = JSON.stringify(detailAnswer({ ...detail, categoryPath }, { publicUrl, currency, now: now() }))
      const rendered = { status, seller_id, answer: cacheableAnswer(body, status === 'ACTIVE' ? PUBLIC : OWN) }
      pages.set(productId, { texts, tree, createdAt: created_at, badges: badgesNow(texts.details, created_at), rendered })
      return rendered
    },
  }
}

function sameTexts(a: DetailTexts, b: DetailTexts): boolean {
  return (
    a.product === b.product &&
    a.companions === b.companions &&
    a.details === b.details &&
    a.seller === b.seller &&
    a.leaders === b.leaders &&
    sameNumbers(a.related, b.related) &&
    sameNumbers(a.units, b.units)
  )
}

function sameNumbers(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((number, index) => number === b[index])
}

function bytesOf({ texts: { product, details, seller, leaders }, rendered }: Kept): number {
  const texts = product.length + (details?.length ?? 0) + (seller?.length ?? 0) + (leaders?.length ?? 0)
  // A kept answer may also have a compressed body, whose size is about a third of the original.
  return BYTES_BESIDE_TEXTS + texts + Math.ceil(((rendered.answer.body as Uint8Array).byteLength * 4) / 3)
}
