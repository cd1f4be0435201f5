import { LRUCache } from 'lru-cache'
import { badgesAt } from '../../../schemas/catalog/documents/badges.ts'
import type { StoredProduct } from '../../../schemas/catalog/products/stored.ts'
import { productDetails } from '../../../state/views/catalog/catalog-details.ts'
import { markOfProductText } from '../../../state/views/catalog/products.ts'
import { isWithin } from '../../kit/age.ts'
import { type Answer, cacheableText, JSON_TYPE } from '../../kit/answer.ts'
import type { WatchedRead } from '../../kit/watched/watched-keys.ts'
import type { CategoryTree } from '../categories/tree.ts'
import { detailAnswer } from './answer.ts'
import { type DetailTexts, type IsKnownProduct, parsedDetail } from './read.ts'

/** A rendered page, with the fields of the product that decide who may see the page. */
export interface Rendered extends Pick<StoredProduct, 'status' | 'seller_id'> {
  readonly answer: Answer
}

/**
 * The data from which a page was rendered. The product's text is by far the longest part, so only a fingerprint of the
 * text is kept. The fingerprint contains the product's revision, which every change of the product increases.
 */
interface Sources extends Omit<DetailTexts, 'product'> {
  readonly productMark: string
}

/** The last rendered page of a product, and the data from which it was rendered. */
interface Kept {
  readonly sources: Sources
  readonly tree: CategoryTree
  readonly createdAt: number
  readonly badges: string
  readonly rendered: Rendered
  /** The newest read of the page's data. */
  read: PageRead
  /** Latest time at which the page is known to have been current, in epoch ms. */
  currentAt: number
}

/** A read of a page's data. If the read does not watch the data for later changes, `unchangedAt` returns undefined. */
export interface PageRead extends Pick<WatchedRead, 'unchangedAt'> {
  /** Time at which the read began, in epoch ms. */
  readonly startedAt: number
}

export interface KeptPages {
  isKept(productId: number): boolean
  isKnown(productId: number): IsKnownProduct
  /**
   * Returns the page of a product if it was rendered with these categories and is known to have been current within the
   * last second; otherwise undefined.
   */
  recent(productId: number, tree: CategoryTree): Rendered | undefined
  /**
   * Returns the page of a product. Renders it again only if its data, the categories or its badges have changed. Keeps
   * the page.
   */
  page(productId: number, texts: DetailTexts, tree: CategoryTree, read: PageRead): Rendered
}

export interface KeptPagesOptions {
  /** Base URL of all absolute URLs in answers. */
  readonly publicUrl: string
  readonly currency: string
  /** Epoch ms. */
  now(): number
}

/** Clients may cache the answer, but must revalidate it before each use. */
const PUBLIC = { 'Content-Type': JSON_TYPE, 'Cache-Control': 'public, no-cache' } as const
const OWN = { 'Content-Type': JSON_TYPE, 'Cache-Control': 'private, no-cache' } as const
/** Maximum memory of all kept pages. It is enough for about 10,000 pages with descriptions of ordinary length. */
const MOST_BYTES = 80 * 2 ** 20
/**
 * Estimated memory of a page in addition to its texts, in bytes. The keys that are watched for changes take most of
 * this memory.
 */
const BYTES_BESIDE_TEXTS = 2_000
/**
 * How long a page may be sent after the last time at which it is known to have been current. The seller of the product
 * and administrators get a page only after another read of the views.
 */
const RECENT_MS = 1_000
/**
 * How long a page counts as current while no change of its data is reported. After this time, the views are read again,
 * in case a report was lost.
 */
const READ_AGAIN_MS = 60_000

/**
 * Renders product pages, and keeps the last page of each product. A page is rendered again only if its data, the
 * categories or its badges have changed.
 */
export function keptPages({ publicUrl, currency, now }: KeptPagesOptions): KeptPages {
  const pages = new LRUCache<number, Kept>({ maxSize: MOST_BYTES, sizeCalculation: bytesOf })

  function badgesNow(details: string | null, createdAt: number): string {
    return badgesAt(productDetails(details).badges, createdAt, now()).join()
  }

  function isSame(kept: Kept, sources: Sources, tree: CategoryTree): boolean {
    return kept.tree === tree && sameSources(kept.sources, sources) && kept.badges === badgesNow(sources.details, kept.createdAt)
  }

  /**
   * Advances `currentAt` if no change has been reported since a recent read of the page's data, and the badges are
   * still the same.
   */
  function confirm(kept: Kept): void {
    const unchangedAt = kept.read.unchangedAt()
    if (unchangedAt === undefined || unchangedAt <= kept.currentAt || unchangedAt - kept.read.startedAt > READ_AGAIN_MS) return
    if (kept.badges === badgesNow(kept.sources.details, kept.createdAt)) kept.currentAt = unchangedAt
  }

  return {
    isKept: (productId) => pages.has(productId),
    isKnown: (productId) => (text, companions) => {
      const sources = pages.peek(productId)?.sources
      return sources !== undefined && sources.companions === companions && sources.productMark === markOfProductText(text)
    },
    recent(productId, tree) {
      const kept = pages.get(productId)
      if (kept === undefined || kept.tree !== tree) return undefined
      const time = now()
      if (!isWithin(kept.currentAt, RECENT_MS, time)) confirm(kept)
      return isWithin(kept.currentAt, RECENT_MS, time) ? kept.rendered : undefined
    },
    page(productId, texts, tree, read) {
      const kept = pages.get(productId)
      const { product, ...others } = texts
      const sources = { ...others, productMark: markOfProductText(product) }
      if (kept !== undefined && isSame(kept, sources, tree)) {
        // If the clock was set back, the times of an earlier read lie in the future and are useless.
        const isAhead = kept.currentAt > now()
        if (isAhead || read.startedAt >= kept.read.startedAt) kept.read = read
        kept.currentAt = isAhead ? read.startedAt : Math.max(kept.currentAt, read.startedAt)
        return kept.rendered
      }
      const detail = parsedDetail(texts)
      const { status, seller_id, category_id, created_at } = detail.product
      const categoryPath = tree.pathOf(category_id).map(({ name }) => name)
      const body = JSON.stringify(detailAnswer({ ...detail, categoryPath }, { publicUrl, currency, now: now() }))
      const rendered = { status, seller_id, answer: cacheableText(body, status === 'ACTIVE' ? PUBLIC : OWN) }
      const badges = badgesNow(texts.details, created_at)
      pages.set(productId, { sources, tree, createdAt: created_at, badges, rendered, read, currentAt: read.startedAt })
      return rendered
    },
  }
}

function sameSources(a: Sources, b: Sources): boolean {
  return (
    a.productMark === b.productMark &&
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

function bytesOf({ sources: { details, seller, leaders }, rendered }: Kept): number {
  const texts = (details?.length ?? 0) + (seller?.length ?? 0) + (leaders?.length ?? 0)
  const body = rendered.answer.body as string | Uint8Array
  // A kept answer may also have a compressed body, whose size is about a third of the original.
  return BYTES_BESIDE_TEXTS + texts + Math.ceil((body.length * 4) / 3)
}
