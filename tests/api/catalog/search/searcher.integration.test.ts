import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ProductIndex, productIndex } from '../../../../api/catalog/search/engine/product-index.ts'
import { cursorText } from '../../../../api/catalog/search/request/cursor.ts'
import type { Filters, SearchRequest } from '../../../../api/catalog/search/request/search-request.ts'
import { factorsOf, relevanceOf } from '../../../../api/catalog/search/results/explanation.ts'
import { searcher } from '../../../../api/catalog/search/searcher.ts'
import { synonymsOf } from '../../../../api/catalog/search/text/synonyms.ts'
import { productMaker } from '../../../../bench/catalog/search/products.ts'
import { generatedTitles } from '../../../../bench/catalog/search/titles.ts'
import { MOST_CATEGORIES } from '../../../../schemas/catalog/documents/limits.ts'
import type { CatalogDocument } from '../../../../schemas/catalog/types.ts'
import { requireSuccess } from '../../../../state/indexes/answers.ts'
import { PRICE_BANDS, priceBandOf } from '../../../../state/indexes/catalog/bands.ts'
import { type ProductSource, productSourceOf, productsMappings, productsSettings } from '../../../../state/indexes/catalog/products.ts'
import { searchClient } from '../../../../state/indexes/client.ts'
import { indexReader } from '../../../../state/indexes/reader.ts'
import { testStack } from '../../../stack/index.ts'

const NOW = Date.UTC(2026, 10, 23)
const PRODUCTS = 10_000
const PERCENTILE = NOW / (7 * 24 * 3_600_000) + 6
const make = productMaker(generatedTitles, NOW)

const hidden: CatalogDocument = { ...make(PRODUCTS), is_public: false, title: '', brand: null, attributes: [] }
const special: CatalogDocument[] = [
  { ...make(PRODUCTS + 1), title: 'BEHR Premium Textured DeckOver Coating', description: 'Rejuvenates weathered timber' },
  { ...make(PRODUCTS + 2), title: 'Zellmann half inch copper elbow' },
  // Apart from its title, this product has nothing that would move it to the front.
  {
    ...make(PRODUCTS + 3),
    title: 'Quillworth lamp',
    in_stock: 'out_of_stock',
    sales_log: null,
    rating_sum: 9,
    rating_count: 9,
    seller_rating: 1,
  },
  { ...make(PRODUCTS + 4), title: 'Wi-Fi alarm for an e-bike' },
]
const documents = [...Array.from({ length: PRODUCTS }, (_, at) => make(at)), ...special]
/** Names of the products' attributes. */
const ATTRIBUTES: readonly string[] = ['colour', 'size', 'material']
const NO_FILTERS: Filters = { brands: [], attributes: new Map() }

function request(q: string | undefined, filters: Partial<Filters> = {}, more: Partial<SearchRequest> = {}): SearchRequest {
  const category = filters.categories === undefined ? undefined : Number(filters.categories[0])
  return {
    q,
    filters: { ...NO_FILTERS, ...filters },
    category,
    sort: 'relevance',
    place: { kind: 'page', page: 1 },
    pageSize: 20,
    explain: false,
    ...more,
  }
}

function count<T>(values: readonly T[]): Map<T, number> {
  const counts = new Map<T, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return counts
}

/** Returns the most frequent values. Equally frequent values are in alphabetical order. */
function largest<T>(counts: ReadonlyMap<T, number>, most: number, textOf: (value: T) => string): [T, number][] {
  return [...counts].sort(([a, m], [b, n]) => n - m || (textOf(a) < textOf(b) ? -1 : 1)).slice(0, most)
}

/** Returns every filter as a plain function, keyed by the kind of its facet, and a function that computes ratings. */
function checks({ categories, priceMin = 0, priceMax = Number.POSITIVE_INFINITY, brands, ratingMin = 0, attributes }: Filters) {
  const rating = ({ rating_sum, rating_count }: CatalogDocument) =>
    rating_count === 0 ? 0 : Math.round((rating_sum / rating_count) * 10) / 10
  const all: Record<string, (product: CatalogDocument) => boolean> = {
    category: ({ category_id }) => categories === undefined || categories.includes(String(category_id)),
    price: ({ price_cents }) => price_cents >= priceMin && price_cents <= priceMax,
    brand: ({ brand }) => brands.length === 0 || brands.includes(brand!),
    rating: (product) => rating(product) >= ratingMin,
  }
  for (const [name, values] of attributes)
    all[`attribute:${name}`] = (product) => values.some((value) => product.attributes.includes(`${name}:${value}`))
  return { all, rating }
}

describe.each([1, 3])('with %i shards', (shards) => {
  const name = `search-test-${randomUUID()}`
  let index: ProductIndex
  let search: ReturnType<typeof searcher>
  /**
   * A searcher that considers only the best products. The usual searcher would consider all, because the index is
   * small.
   */
  let searchBest: ReturnType<typeof searcher>

  beforeAll(async () => {
    const client = searchClient(await testStack().search())
    const call = async (method: 'PUT' | 'POST' | 'DELETE', path: string, body?: object | string) =>
      requireSuccess(await client.call({ method, path, body, timeoutMs: 60_000 }), path)
    const settings = { ...productsSettings, number_of_shards: shards }
    await call('PUT', `/${name}`, { settings, mappings: { dynamic: 'strict', ...productsMappings } })
    const lines = [...documents, hidden].map(
      (product) => `{"index":{"_id":"${product.product_id}"}}\n${JSON.stringify(productSourceOf(product))}\n`,
    )
    await call('POST', `/${name}/_bulk?refresh=true`, lines.join(''))
    index = productIndex(indexReader(client), name, { timeoutMs: 20_000 })
    const synonyms = synonymsOf([{ terms: ['luminaire', 'lamp'], one_way: false }])
    const deps = { index, percentile: async () => PERCENTILE, synonyms: () => synonyms, now: () => NOW }
    search = searcher({ ...deps, many: 2 * PRODUCTS })
    searchBest = searcher({ ...deps, many: 0 })
  }, 120_000)

  afterAll(async () => {
    await searchClient(await testStack().search()).call({ method: 'DELETE', path: `/${name}` })
  })

  const filters: [string, string | undefined, Partial<Filters>][] = [
    ['nothing', undefined, {}],
    ['a word', 'cabinet', {}],
    ['two words', 'brushed lamp', {}],
    ['brands', 'lamp', { brands: ['Brand 0', 'Brand 3', 'Brand 1999'] }],
    ['a price', undefined, { priceMin: 2_500, priceMax: 9_999 }],
    ['a rating', 'bench', { ratingMin: 4 }],
    ['a category', undefined, { categories: ['1', '2', '7'] }],
    [
      'attributes',
      'lamp',
      {
        attributes: new Map([
          ['colour', ['red', 'blue']],
          ['size', ['M']],
        ]),
      },
    ],
    [
      'everything',
      'lamp',
      { brands: ['Brand 0', 'Brand 1', 'Brand 2'], priceMin: 100, ratingMin: 1, attributes: new Map([['material', ['oak']]]) },
    ],
  ]

  it.each(filters)('totals and facets equal a count of all products: %s', async (_title, q, chosen) => {
    const { filters: all } = request(q, chosen)
    const { facets } = await search(request(q, chosen))
    const words = q?.split(' ') ?? []
    const texts = documents.filter((product) => words.every((word) => product.title.toLowerCase().split(' ').includes(word)))
    const { all: tests, rating } = checks(all)
    const under = (own?: string) => texts.filter((product) => Object.entries(tests).every(([kind, test]) => kind === own || test(product)))

    expect(facets.total).toBe(under().length)
    const brands = count(under('brand').map(({ brand }) => brand!))
    const expected = largest(brands, 50, (brand) => brand)
    const rare = all.brands.filter((brand) => expected.every(([listed]) => listed !== brand))
    expect(facets.brands).toEqual([
      ...expected.map(([brand, of]) => ({ name: brand, count: of })),
      ...rare.map((brand) => ({ name: brand, count: brands.get(brand) ?? 0 })),
    ])
    const prices = under('price').map(({ price_cents }) => price_cents)
    const bands = count(prices.map(priceBandOf))
    expect(facets.price_ranges).toEqual(PRICE_BANDS.map((range) => ({ range, count: bands.get(range) ?? 0 })))
    expect(facets.price_stats).toEqual(
      prices.length === 0
        ? null
        : {
            min: Math.min(...prices),
            max: Math.max(...prices),
            avg: expect.closeTo(prices.reduce((sum, price) => sum + price, 0) / prices.length, 6),
          },
    )
    const ratings = under('rating').map(rating)
    expect(facets.ratings).toEqual([4, 3, 2, 1].map((min) => ({ min, count: ratings.filter((stars) => stars >= min).length })))
    const categories = count(under('category').map(({ category_id }) => category_id))
    const listed = largest(categories, 50, (category_id) => String(category_id))
    const ofChosen = all.categories === undefined ? [] : [{ category_id: 1, count: under().length }]
    expect(facets.categories).toEqual([
      ...ofChosen,
      ...listed.flatMap(([category_id, of]) => (ofChosen.length > 0 && category_id === 1 ? [] : [{ category_id, count: of }])),
    ])
    for (const attribute of new Set([...ATTRIBUTES, ...all.attributes.keys()])) {
      const found = under(`attribute:${attribute}`).flatMap(({ attributes }) => attributes.filter((one) => one.startsWith(`${attribute}:`)))
      const counts = count([...found])
      for (const value of all.attributes.get(attribute) ?? [])
        if (!counts.has(`${attribute}:${value}`)) counts.set(`${attribute}:${value}`, 0)
      const shown = facets.attributes.find(({ name }) => name === attribute)?.values ?? []
      expect(new Map(shown.map(({ value, count: of }) => [`${attribute}:${value}`, of]))).toEqual(counts)
      expect(shown).toHaveLength(counts.size)
    }
    expect(facets.attributes.every(({ name }) => ATTRIBUTES.includes(name))).toBe(true)
  })

  it.each(filters)(
    'a search that considers only the best products finds the same as a search of all products: %s',
    async (_title, q, chosen) => {
      for (const page of [1, 2, 40]) {
        const asked = request(q, chosen, { pageSize: 25, place: { kind: 'page', page } })
        // Each search runs twice, because the second run starts from the limit that the first run found.
        for (let time = 0; time < 2; time++) expect(await searchBest(asked)).toEqual(await search(asked))
      }
    },
  )

  it('if a query has no words, the first page has the most relevant of all products', async () => {
    const { hits, moment } = await search(request(undefined))
    const relevances = documents.map((product) => relevanceOf(factorsOf(productSourceOf(product) as ProductSource, 0, moment)))
    const expected = relevances.sort((one, other) => other - one).slice(0, hits.length)
    for (const [at, { score }] of hits.entries()) expect(score).toBeCloseTo(expected[at], 4)
  })

  it('relevance is the weighted sum of the factors', async () => {
    for (const q of ['lamp', 'cordless drill']) {
      const { hits, moment } = await search(request(q, {}, { explain: true, pageSize: 50 }))
      expect(hits.length).toBeGreaterThan(10)
      for (const { source, score, textScore } of hits) expect(score).toBeCloseTo(relevanceOf(factorsOf(source, textScore!, moment)), 4)
    }
  })

  it.each(['relevance', 'price_asc', 'price_desc', 'rating', 'newest'] as const)(
    'pages by cursor show every product once: %s',
    async (sort) => {
      const seen: number[] = []
      let place: SearchRequest['place'] = { kind: 'page', page: 1 }
      for (;;) {
        const asked: SearchRequest = request('lamp', {}, { sort, place, pageSize: 40 })
        const { hits, moment, plan, facets } = await search(asked)
        const page = hits.slice(0, 40)
        seen.push(...page.map(({ source }) => source.product_id))
        if (hits.length <= 40) {
          expect(new Set(seen).size).toBe(seen.length)
          expect(seen.length).toBe(facets.total)
          return
        }
        const cursor = cursorText({ after: page.at(-1)!.after, moment, breadth: plan!.breadth, corrections: {} }, asked)
        place = { kind: 'cursor', cursor }
      }
    },
  )

  it.each(['quillworth lamp', 'quilworth lamp'])(
    'the few products that have all words come before popular products that have only some of the words: %s',
    async (q) => {
      const { hits, plan, moment } = await search(request(q, {}, { explain: true }))
      expect(plan!.breadth).toBe('half')
      const relevances = hits.map(({ source, textScore }) => relevanceOf(factorsOf(source, textScore!, moment)))
      expect(hits[0].source.title).toBe('Quillworth lamp')
      expect(relevances[0]).toBeLessThan(relevances[1])
      expect(relevances.slice(1)).toEqual(relevances.slice(1).toSorted((one, other) => other - one))
    },
  )

  it.each([
    ['cabinet', 'all'],
    ['quillworth lamp', 'half'],
  ] as const)('pages by number and by cursor are the same: %s', async (q, breadth) => {
    const asked = request(q, {}, { pageSize: 10 })
    const [first, second] = [await search(asked), await search({ ...asked, place: { kind: 'page', page: 2 } })]
    expect(first.plan!.breadth).toBe(breadth)
    const cursor = cursorText({ after: first.hits[9].after, moment: first.moment, breadth, corrections: {} }, asked)
    const byCursor = await search({ ...asked, place: { kind: 'cursor', cursor } })
    expect(byCursor.hits.map(({ source }) => source.product_id)).toEqual(second.hits.map(({ source }) => source.product_id))
  })

  it.each(['relevance', 'newest'] as const)('the last page by number is followed by a page by cursor: %s', async (sort) => {
    const asked = request(undefined, {}, { sort, pageSize: 100, place: { kind: 'page', page: 100 } })
    for (const find of [search, searchBest]) {
      const { hits, moment } = await find(asked)
      expect(hits).toHaveLength(101)
      const cursor = cursorText({ after: hits[99].after, moment, breadth: 'all', corrections: {} }, asked)
      const next = await find({ ...asked, place: { kind: 'cursor', cursor } })
      expect(next.hits.map(({ source }) => source.product_id)[0]).toBe(hits[100].source.product_id)
      expect(next.hits).toHaveLength(documents.length - 10_000)
    }
  })

  it('a search may filter by as many categories as the catalogue can have', async () => {
    const categories = Array.from({ length: MOST_CATEGORIES }, (_, at) => String(at + 1))
    const { facets } = await search(request(undefined, { categories }))
    expect(facets.total).toBe(documents.length)
  })

  it('a query of 24 words with 19 synonyms each does not fail', async () => {
    const words = Array.from({ length: 24 }, (_, at) => `sofa${at}`)
    const terms = Array.from({ length: 19 }, (_, at) => `one${at} two${at} three${at} four${at}`)
    const synonyms = synonymsOf(words.map((word) => ({ terms: [word, ...terms], one_way: false })))
    const find = searcher({ index, percentile: async () => PERCENTILE, synonyms: () => synonyms, now: () => NOW })
    expect((await find(request(words.join(' ')))).hits).toEqual([])
  })

  it.each([
    ['deck over', 'a compound written apart'],
    ['deckover', 'a compound'],
    ['dekcover', 'a typing mistake'],
    ['weathered', 'a word of the description'],
  ])('the query %s finds its product: %s', async (q) => {
    const { hits } = await search(request(q))
    expect(hits[0].source.title).toContain('DeckOver')
  })

  it.each(['1/2 in copper elbow', '1/2" zellmann', 'zelman elbow'])('%s finds the half-inch elbow', async (q) => {
    const { hits } = await search(request(q))
    expect(hits[0].source.title).toContain('Zellmann')
  })

  it.each(['wifi', 'wi-fi', 'ebike', 'e bike alarm'])(
    'the query %s finds a title in which the short words are joined by hyphens',
    async (q) => {
      const { hits } = await search(request(q))
      expect(hits[0]?.source.title).toContain('Wi-Fi')
    },
  )

  it('a synonym finds as many products as the word itself', async () => {
    const [lamps, luminaires] = [await search(request('lamp')), await search(request('luminaire'))]
    expect(luminaires.facets.total).toBe(lamps.facets.total)
  })

  it('if there are few results only because of a narrow filter, the search does not look for other words', async () => {
    const { plan, facets } = await search(request('lamp', { brands: ['Brand 1999'] }))
    expect(plan!.breadth).toBe('all')
    expect(facets.brands).toContainEqual(expect.objectContaining({ name: 'Brand 1999' }))
  })

  it('a search without words finds only public products', async () => {
    const { facets } = await search(request(undefined))
    expect(facets.total).toBe(documents.length)
  })
})
