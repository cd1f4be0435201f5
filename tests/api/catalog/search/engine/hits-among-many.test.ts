import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { hitsSearch } from '../../../../../api/catalog/search/engine/hits.ts'
import { hitsAmongMany, mostBeside } from '../../../../../api/catalog/search/engine/hits-among-many.ts'
import type { ProductIndex } from '../../../../../api/catalog/search/engine/product-index.ts'
import type { Query } from '../../../../../api/catalog/search/engine/query.ts'
import { factorsOf, relevanceOf } from '../../../../../api/catalog/search/results/explanation.ts'
import { planOf } from '../../../../../api/catalog/search/text/plan.ts'
import { NO_SYNONYMS } from '../../../../../api/catalog/search/text/synonyms.ts'
import { productMaker } from '../../../../../bench/catalog/search/products.ts'
import { generatedTitles } from '../../../../../bench/catalog/search/titles.ts'
import { type ProductSource, productSourceOf } from '../../../../../state/indexes/catalog/products.ts'
import { textFactorOf, WEIGHTS } from '../../../../../state/indexes/catalog/relevance.ts'

const NOW = Date.UTC(2026, 10, 23)
const DAY_MS = 24 * 3_600_000
const make = productMaker(generatedTitles, NOW)
const answer = (max_score: number | null) => ({ hits: { max_score } })

it('the relevance of a product never exceeds its ceiling plus the maximum possible values of text and recency', () => {
  const sample = fc.record({
    number: fc.nat(100_000),
    score: fc.double({ min: 0, max: 100, noNaN: true }),
    more: fc.double({ min: 0, max: 10, noNaN: true }),
    percentile: fc.option(fc.double({ min: -5, max: 20, noNaN: true })),
    days: fc.integer({ min: 0, max: 400 }),
  })
  fc.assert(
    fc.property(sample, ({ number, score, more, percentile, days }) => {
      const source = productSourceOf(make(number)) as ProductSource
      const now = NOW + days * DAY_MS
      const salesPercentile = percentile === null ? null : NOW / (7 * DAY_MS) + percentile
      const relevance = relevanceOf(factorsOf(source, score, { now, salesPercentile }))
      expect(relevance).toBeLessThanOrEqual(source.ceiling + mostBeside([answer(score), answer(more), answer(null)]))
    }),
  )
})

interface Product {
  readonly id: number
  readonly ceiling: number
  /** Share of the ceiling that is lost, because the product's sales have decayed since the ceiling was computed. */
  readonly lost: number
  readonly recency: number
  readonly textScore: number
}

function relevance({ ceiling, lost, recency, textScore }: Product): number {
  return ceiling * (1 - lost) + WEIGHTS.recency * recency + WEIGHTS.text * textFactorOf(textScore)
}

/**
 * Creates a fake index that supports searches for hits and for the highest scores of clauses. Only the first clause
 * has scores.
 */
function memoryIndex(products: readonly Product[]) {
  const scored: number[] = []
  const all = products.toSorted((a, b) => relevance(b) - relevance(a) || a.id - b.id)
  const greatest = Math.max(0, ...products.map(({ textScore }) => textScore))

  function found(body: ReturnType<typeof hitsSearch>) {
    const { from, size, query } = body as {
      from: number
      size: number
      query: { function_score: { query: { bool: { filter: Clause[] } } } }
    }
    const limit = query.function_score.query.bool.filter.find(({ range }) => range)?.range?.ceiling.gte ?? 0
    const above = all.filter(({ ceiling }) => ceiling >= limit)
    scored.push(above.length)
    return { hits: { hits: above.slice(from, from + size).map((product) => ({ _id: product.id, _score: relevance(product) })) } }
  }

  let isFirst = true
  function answer(body: Query) {
    if ('sort' in body) return found(body)
    const max_score = isFirst ? greatest : 0
    isFirst = false
    return { hits: { max_score } }
  }
  const index: ProductIndex = {
    search: async (body) => answer(body),
    async searchAll(bodies) {
      isFirst = true
      return bodies.map((body) => (body.further ? { further: true } : answer(body)))
    },
  }
  return { index, scored, all }
}

interface Clause {
  readonly range?: { readonly ceiling: { readonly gte: number } }
}

const plan = planOf('lamp', NO_SYNONYMS)
const hitsFor = (from: number, size: number) => ({
  plan,
  filters: [],
  sort: 'relevance' as const,
  moment: { now: NOW, salesPercentile: null },
  size,
  from,
})
const share = fc.double({ min: 0, max: 1, noNaN: true })
const someProducts = fc
  .array(fc.record({ ceiling: fc.double({ min: 0, max: 0.65, noNaN: true }), lost: share, recency: share, textScore: share }), {
    minLength: 100,
    maxLength: 200,
    size: 'max',
  })
  .map((products) => products.map((product, id) => ({ ...product, textScore: product.textScore * 40, id })))

it('on every page, a search among many products finds the same products as a search of all products', async () => {
  const pages = fc.array(fc.record({ from: fc.nat(20), size: fc.integer({ min: 1, max: 30 }) }), { minLength: 1, maxLength: 8 })
  await fc.assert(
    fc.asyncProperty(someProducts, pages, async (products, asked) => {
      const { index, all } = memoryIndex(products)
      const firstHits = hitsAmongMany(index)
      for (const { from, size } of asked) {
        const [first, further] = await firstHits(hitsFor(from, size), [{ further: true }])
        expect(first.hits.hits.map(({ _id }: { _id: number }) => _id)).toEqual(all.slice(from, from + size).map(({ id }) => id))
        expect(further).toEqual({ further: true })
      }
    }),
  )
})

it('a search among 10,000 products scores fewer than 3,000 of them', async () => {
  const products = Array.from({ length: 10_000 }, (_, id) => ({ id, ceiling: (id % 650) / 1_000, lost: 0, recency: 0.5, textScore: 1 }))
  const { index, scored } = memoryIndex(products)
  const firstHits = hitsAmongMany(index)
  for (let time = 0; time < 3; time++) await firstHits(hitsFor(0, 25), [])
  expect(Math.max(...scored)).toBeLessThan(3_000)
})

it('a search with a sort order other than relevance, or for a page by cursor, searches all products', async () => {
  const bodies: Query[] = []
  const index: ProductIndex = { search: async () => ({}), searchAll: async (all) => [...bodies.splice(0, bodies.length, ...all)] }
  const firstHits = hitsAmongMany(index)
  await firstHits({ ...hitsFor(0, 25), sort: 'newest' }, [])
  expect(JSON.stringify(bodies)).not.toContain('ceiling')
  await firstHits({ ...hitsFor(0, 25), from: [0.5, 7] }, [])
  expect(JSON.stringify(bodies)).not.toContain('ceiling')
  expect(bodies).toHaveLength(1)
})
