import { expect, test } from 'vitest'
import { meanWithPrior } from '../../../../schemas/catalog/documents/rating.ts'
import { salesAt } from '../../../../schemas/catalog/documents/sales.ts'
import type { CatalogDocument, CatalogProduct } from '../../../../schemas/catalog/types.ts'
import { integer, pick, type Random, seededRandom } from '../../../../tools/random/random.ts'
import { DAY, documentsDriver, type Input, MINUTE, movement, NOON, owned, product, review, SECOND, seller, variant } from './driver.ts'
import { foldDocuments } from './fold.ts'

const SEEDS = Array.from({ length: 30 }, (_, index) => index + 1)
const PRODUCTS = 6
const STEPS = 150

/** Generates the inputs of each topic, in the order of the topic. */
function generated(random: Random): Input[][] {
  const events: Input[] = []
  const prices: Input[] = []
  const stock: Input[] = []
  const others: Input[] = []
  const sellers: Input[] = []
  const owning: Input[] = []
  const newest = new Map<number, CatalogProduct>()
  const versions = new Map<string, number>()
  for (let step = 0; step < STEPS; step++) {
    const id = 1 + integer(random, PRODUCTS)
    const kind = integer(random, 10)
    const known = newest.get(id)
    if (kind < 3 || known === undefined) {
      const next = changed(random, id, known)
      newest.set(id, next)
      const isPrice = known !== undefined && random() < 0.4
      ;(isPrice ? prices : events).push({ topic: isPrice ? 'price' : known === undefined ? 'created' : 'updated', product: next })
      if (known === undefined) owning.push(owned(id))
    } else if (kind < 6) {
      const number = 1 + integer(random, 2)
      const warehouse_id = pick(random, ['w1', 'w2'])
      const key = `${id} ${number} ${warehouse_id}`
      const version = (versions.get(key) ?? 0) + 1
      versions.set(key, version)
      const isSale = random() < 0.5
      const change = movement(id, {
        variant_id: id * 256 + number,
        warehouse_id,
        version,
        kind: isSale ? 'DEDUCT' : 'RECEIVE',
        quantity: 1 + integer(random, 5),
        available: integer(random, 8),
        at: NOON - integer(random, 40 * DAY),
      })
      stock.push(change)
      // The log may contain a record twice.
      if (random() < 0.1) stock.push(change)
    } else if (kind < 9) others.push(review(id, integer(random, 5), 1 + integer(random, 5)))
    else sellers.push(seller(1 + random() * 4, integer(random, 60)))
  }
  return [events, prices, stock, others, sellers, owning]
}

function changed(random: Random, id: number, known: CatalogProduct | undefined): CatalogProduct {
  const variants = [1, 2].map((number) =>
    variant(id, number, {
      price_cents: 100 * number + integer(random, 50),
      compare_price: random() < 0.3 ? 100 * integer(random, 4) : null,
      status: number === 2 && random() < 0.5 ? 'INACTIVE' : 'ACTIVE',
      attributes: { Colour: pick(random, ['red', 'blue']), size: pick(random, ['S', 'M']) },
    }),
  )
  return product(id, {
    revision: (known?.revision ?? 0) + 1,
    title: `Title ${integer(random, 1_000)}`,
    status: random() < 0.75 ? 'ACTIVE' : pick(random, ['INACTIVE', 'DRAFT']),
    category_id: 1 + integer(random, 2),
    variants,
  })
}

/** Interleaves the topics at random, but keeps the order within each topic. */
function interleaved(random: Random, topics: readonly (readonly Input[])[]): Input[] {
  const next = topics.map(() => 0)
  const inputs: Input[] = []
  for (;;) {
    const open = topics.flatMap((topic, index) => (next[index] < topic.length ? [index] : []))
    if (open.length === 0) return inputs
    const index = pick(random, open)
    inputs.push(topics[index][next[index]++])
  }
}

/**
 * Returns the seller's rating that documents must show: the last rating that changed the ranking factor by at least
 * 0.05.
 */
function shownRating(inputs: readonly Input[]): number | null {
  let shown: number | null = null
  for (const input of inputs) {
    if (input.topic !== 'seller') continue
    const { rating, rating_count } = input.seller
    const next: number | null = rating === null || rating_count === 0 ? null : meanWithPrior(rating * rating_count, rating_count)
    if (Math.abs((next ?? 3.5) - (shown ?? 3.5)) / 4 >= 0.05) shown = next
  }
  return shown
}

test.each(SEEDS)('documents equal a fold of the topics, however the topics are interleaved (seed %i)', (seed) => {
  const random = seededRandom(seed)
  const topics = generated(random)
  for (let mix = 0; mix < 3; mix++) {
    const inputs = interleaved(random, topics)
    const { driver, send, written, newest, leaders } = documentsDriver({ commit: mix === 0 ? 'record' : 'manual' })
    for (const input of inputs) {
      send(input)
      if (random() < 0.05) driver.settle()
      if (random() < 0.02) driver.restart({ wipeState: random() < 0.5 })
      if (random() < 0.05) driver.advanceWallClock(integer(random, 30) * SECOND)
    }
    driver.settle()
    driver.advanceWallClock(3 * MINUTE)
    driver.settle()
    written()
    const expected = foldDocuments(inputs, NOON)
    const shown = [...newest.values()].filter(({ is_public }) => is_public)
    expect(new Set(shown.map(({ product_id }) => product_id))).toEqual(new Set(expected.keys()))
    const rating = shownRating(inputs)
    const best = bestSellers(shown)
    for (const document of shown) {
      const { sales, revision: _revision, ...fields } = expected.get(document.product_id)!
      expect(document).toMatchObject({ ...fields, stars: fields.rating_count === 0 ? document.stars : fields.stars })
      expect(document.stars.reduce((sum, count) => sum + count, 0)).toBe(fields.rating_count)
      expect(salesAt(document.sales_log, NOON)).toBeCloseTo(sales, 6)
      expect(document.seller_rating).toBe(rating)
      expect(document.badges.includes('bestseller')).toBe(best.get(document.category_id)?.[0] === document.product_id)
    }
    for (const category of [1, 2]) expect(leaders.get(category) ?? []).toEqual(best.get(category) ?? [])
  }
})

function bestSellers(documents: readonly CatalogDocument[]): Map<number, number[]> {
  const sold = documents.filter(({ sales_log }) => sales_log !== null).sort((a, b) => b.sales_log! - a.sales_log!)
  return new Map(
    [...Map.groupBy(sold, ({ category_id }) => category_id)].map(([id, list]) => [id, list.map(({ product_id }) => product_id)]),
  )
}
