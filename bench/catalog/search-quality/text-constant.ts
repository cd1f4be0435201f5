import { selecting } from '../../../api/catalog/search/engine/hits.ts'
import type { ProductIndex } from '../../../api/catalog/search/engine/product-index.ts'
import { factorsOf, relevanceOf } from '../../../api/catalog/search/results/explanation.ts'
import { searcher } from '../../../api/catalog/search/searcher.ts'
import { textQuery } from '../../../api/catalog/search/text/query.ts'
import { NO_SYNONYMS } from '../../../api/catalog/search/text/synonyms.ts'
import { productSourceOf } from '../../../state/indexes/catalog/products.ts'
import { WEIGHTS } from '../../../state/indexes/catalog/relevance.ts'
import { wordsOf } from '../../../state/indexes/catalog/words.ts'
import { row } from '../../harness/table.ts'
import type { JudgedQuery } from '../judgments.ts'
import { productMaker } from '../search/products.ts'
import { generatedTitles } from '../search/titles.ts'
import { drawnPercentile } from './indexes.ts'
import { DEPTH, ndcg } from './ndcg.ts'

const CONSTANTS = [1, 2, 4, 6, 8, 10, 14, 20, 30, 50, 100]
/**
 * Number of candidates per query: the products with the highest text scores. The other factors can hardly raise any
 * other product into the first ten.
 */
const CANDIDATES = 1_000
/** Number of random draws of the other factors for each query. */
const DRAWS = 5
const DRAW_SIZE = 1_000_000
const NO_FILTERS = { brands: [], attributes: new Map<string, readonly string[]>() }

interface Candidate {
  readonly id: string
  readonly textScore: number
}

/**
 * Returns a table of NDCG@10 for each constant of the text factor. The judgments are about titles only, so all other
 * factors are drawn at random. These factors act as noise. The best constant is the one with which the noise displaces
 * the fewest good products.
 */
export async function textConstants(products: ProductIndex, queries: readonly JudgedQuery[], now: number): Promise<string[]> {
  const moment = { now, salesPercentile: drawnPercentile(now) }
  const search = searcher({ index: products, percentile: async () => null, synonyms: () => NO_SYNONYMS, now: () => now })
  const make = productMaker(generatedTitles, now)
  const others = new Map<number, number>()

  /** Returns how much all factors except the text contribute to a product's relevance. */
  function otherFactors(id: string, draw: number): number {
    const number = Number(id) + draw * DRAW_SIZE
    const known = others.get(number)
    if (known !== undefined) return known
    const source = productSourceOf(make(number))
    const drawn = source.is_public ? relevanceOf(factorsOf(source, 0, moment)) : 0
    others.set(number, drawn)
    return drawn
  }

  async function candidatesFor(q: string): Promise<Candidate[]> {
    const place = { kind: 'page', page: 1 } as const
    const { plan } = await search({ q, filters: NO_FILTERS, category: undefined, sort: 'relevance', place, pageSize: 1, explain: false })
    if (plan === undefined) return []
    const body = { query: selecting(textQuery(plan), [], true), size: CANDIDATES, _source: false, track_total_hits: false }
    const answer: { hits: { hits: { _id: string; _score: number }[] } } = await products.search(body)
    return answer.hits.hits.map(({ _id, _score }) => ({ id: _id, textScore: _score }))
  }

  const sums = CONSTANTS.map(() => ({ halves: [0, 0], counts: [0, 0] }))
  for (const [at, { text, gains }] of queries.entries()) {
    if (wordsOf(text).length === 0) continue
    const candidates = await candidatesFor(text)
    for (const [which, constant] of CONSTANTS.entries()) {
      for (let draw = 0; draw < DRAWS; draw++) {
        const value = ndcg(firstOf(candidates, constant, draw), gains)
        if (value === undefined) continue
        sums[which].halves[at % 2] += value
        sums[which].counts[at % 2]++
      }
    }
  }
  return [
    row(['constant of the text factor', 'NDCG@10 of one half of the queries', 'of the other half']),
    row(['---:', '---:', '---:']),
    ...sums.map(({ halves, counts }, which) => row([CONSTANTS[which], ...halves.map((sum, half) => (sum / counts[half]).toFixed(4))])),
  ]

  function firstOf(candidates: readonly Candidate[], constant: number, draw: number): string[] {
    return candidates
      .map(({ id, textScore }) => ({
        id,
        relevance: (WEIGHTS.text * textScore) / (textScore + constant) + otherFactors(id, draw),
      }))
      .sort((one, other) => other.relevance - one.relevance)
      .slice(0, DEPTH)
      .map(({ id }) => id)
  }
}
