import { describe, expect, it } from 'vitest'
import { categoryTree } from '../../../../../api/catalog/categories/tree.ts'
import { cursorText, readCursor } from '../../../../../api/catalog/search/request/cursor.ts'
import { searchParameters } from '../../../../../api/catalog/search/request/parameters.ts'
import { readRequest } from '../../../../../api/catalog/search/request/read-request.ts'
import { ApiError } from '../../../../../api/kit/errors.ts'
import { wordsOf } from '../../../../../state/indexes/catalog/words.ts'

const tree = categoryTree([
  { category_id: 1, parent_id: null, name: 'Tools', slug: 'tools' },
  { category_id: 2, parent_id: 1, name: 'Drills', slug: 'drills' },
])
const read = (query: Record<string, string | string[]>) => readRequest(searchParameters.parse(query), () => tree)
const faults = (query: Record<string, string | string[]>) =>
  searchParameters.safeParse(query).error?.issues.map(({ path }) => path.join('.')) ?? []

describe('parameters', () => {
  it('have defaults', () => {
    expect(read({})).toMatchObject({ q: undefined, sort: 'relevance', place: { kind: 'page', page: 1 }, pageSize: 20, explain: false })
  })

  it('a category is given by its id or path, and includes its descendants', () => {
    expect(read({ category: 'tools' }).filters.categories).toEqual(['1', '2'])
    expect(read({ category: '2' }).filters.categories).toEqual(['2'])
    expect(read({ category: 'tools/drills' }).category).toBe(2)
  })

  it('brands are given as a list, or as repeated parameters if names contain commas', () => {
    expect(read({ brand: 'Makita, Bosch' }).filters.brands).toEqual(['Makita', 'Bosch'])
    expect(read({ brand: ['Acme, Inc.', 'Acme, Inc.'] }).filters.brands).toEqual(['Acme, Inc.'])
  })

  it('prices are given in major units, and several values of one attribute are alternatives', () => {
    const { filters } = read({ price_min: '19.99', price_max: '20', attr: ['Colour:red', 'colour:blue', 'size:1:2'] })
    expect([filters.priceMin, filters.priceMax]).toEqual([1_999, 2_000])
    expect([...filters.attributes]).toEqual([
      ['colour', ['red', 'blue']],
      ['size', ['1:2']],
    ])
  })

  it.each([
    [{ q: 'x'.repeat(201) }, 'q'],
    [{ q: '&& ~*"()' }, 'q'],
    [{ q: 'a\0b' }, 'q'],
    [{ q: ['a', 'b'] }, 'q'],
    [{ price_min: '2', price_max: '1' }, 'price_min'],
    [{ price_min: '-1' }, 'price_min'],
    [{ price_max: '1.001' }, 'price_max'],
    [{ price_max: '1e9' }, 'price_max'],
    [{ rating_min: '5.1' }, 'rating_min'],
    [{ sort: 'cheapest' }, 'sort'],
    [{ page: '0' }, 'page'],
    [{ page: '501', page_size: '20' }, 'page'],
    [{ page_size: '101' }, 'page_size'],
    [{ page: '2', cursor: 'x' }, 'cursor'],
    [{ sort: 'price_asc; drop' }, 'sort'],
    [{ sort: ['newest', 'rating'] }, 'sort'],
    [{ page: '10001', page_size: '1' }, 'page'],
    [{ page: '1.5' }, 'page'],
    [{ page_size: '0' }, 'page_size'],
    [{ price_min: '1000000000.01' }, 'price_min'],
    [{ price_max: 'NaN' }, 'price_max'],
    [{ rating_min: '-1' }, 'rating_min'],
    [{ category: '' }, 'category'],
    [{ category: 'c'.repeat(2_001) }, 'category'],
    [{ brand: ['b'.repeat(201), 'other'] }, 'brand.0'],
    [{ brand: 'Acme,,Bosch' }, 'brand.1'],
    [{ cursor: 'x'.repeat(8_001) }, 'cursor'],
    [{ attr: `${'n'.repeat(50)}:${'v'.repeat(201)}` }, 'attr.0'],
    [{ attr: Array.from({ length: 21 }, (_, at) => `colour:${at}`) }, 'attr'],
    [{ attr: ':red' }, 'attr.0'],
    [{ attr: 'colour:' }, 'attr.0'],
    [{ attr: 'red' }, 'attr.0'],
    [{ attr: ['a:1', 'b:1', 'c:1', 'd:1', 'e:1', 'f:1'] }, 'attr'],
    [{ brand: Array.from({ length: 21 }, (_, at) => `b${at}`) }, 'brand'],
    [{ explain: 'yes' }, 'explain'],
  ])('%o is refused', (query, path) => {
    expect(faults(query)).toEqual([path])
  })

  it('a parameter that takes a single value is refused if it is given twice, and the error says so', () => {
    const single = { q: 'a', category: '1', price_min: '1', price_max: '2', rating_min: '1', sort: 'newest', page: '1', page_size: '5' }
    const twice = Object.fromEntries(Object.entries(single).map(([name, value]) => [name, [value, value]]))
    const issues = searchParameters.safeParse(twice).error?.issues.map(({ path, message }) => [path.join('.'), message])
    expect(issues).toEqual(Object.keys(single).map((name) => [name, 'must be given once']))
  })

  it('the last numbered page, and the maximum of each text and number, are accepted', () => {
    expect(faults({ page: '500', page_size: '20', q: '𝒳'.repeat(200) })).toEqual([])
    const longest = { category: 'c'.repeat(2_000), brand: 'b'.repeat(200), attr: `${'n'.repeat(50)}:${'v'.repeat(200)}` }
    expect(faults({ ...longest, price_min: '1000000000', price_max: '1000000000', rating_min: '5' })).toEqual([])
  })

  it('a brand and an attribute are accepted in any Unicode composition, up to their maximum lengths', () => {
    const { filters } = read({ brand: 'Cre\u0301me', attr: 'Gro\u0308ße: XL ' })
    expect([filters.brands, [...filters.attributes]]).toEqual([['Cr\u00e9me'], [['gr\u00f6ße', [' XL']]]])
    expect(faults({ brand: '𝒳'.repeat(200), attr: `${'𝒳'.repeat(50)}:${'𝒳'.repeat(200)}` })).toEqual([])
    expect(faults({ brand: ['a', ' '], attr: `n:${'𝒳'.repeat(250)}` })).toEqual(['brand.1', 'attr.0'])
  })

  it('the category must exist', () => {
    expect(() => read({ category: 'toys' })).toThrowError(
      expect.objectContaining({ definition: expect.objectContaining({ code: 'unknown_category' }) }),
    )
  })
})

describe('a cursor', () => {
  const cursor = {
    after: [0.75, 42],
    moment: { now: Date.UTC(2026, 0, 15), salesPercentile: 2_900.5 },
    breadth: 'described',
    corrections: { dril: ['drill'] },
  } as const

  it('leads to the next page of the same search', () => {
    const text = cursorText(cursor, read({ q: 'dril', brand: 'a,b' }))
    expect(readCursor(text, read({ q: 'dril', brand: 'b,a', page_size: '50' }))).toEqual(cursor)
  })

  it('is accepted even for a long query in a script with several bytes per character, with two corrections for each word', () => {
    const q = Array.from({ length: 20 }, (_, at) => String.fromCodePoint(0xac01 + 28 * at).repeat(9)).join(' ')
    const corrections = Object.fromEntries(wordsOf(q).map(({ text }) => [text, [text, text]]))
    expect(Object.keys(corrections)).toHaveLength(20)
    const long = { ...cursor, corrections }
    const text = cursorText(long, read({ q }))
    expect(readCursor(text, read({ q }))).toEqual(long)
    expect(faults({ q, cursor: text })).toEqual([])
  })

  it.each<Record<string, string>>([{ q: 'other' }, { q: 'dril', sort: 'newest' }, { q: 'dril', price_max: '3' }])(
    'is refused in a different search: %o',
    (other) => {
      const text = cursorText(cursor, read({ q: 'dril' }))
      expect(() => readCursor(text, read(other))).toThrow(ApiError)
    },
  )

  it.each([
    { ...cursor, moment: { ...cursor.moment, now: 0 } },
    { ...cursor, moment: { ...cursor.moment, salesPercentile: Number.POSITIVE_INFINITY, now: -1 } },
    { ...cursor, corrections: { dril: ['drill bit'] } },
    { ...cursor, corrections: Object.fromEntries(Array.from({ length: 31 }, (_, at) => [`w${at}`, ['word']])) },
  ])('is refused if it contains numbers or words that no search has: %o', (forged) => {
    expect(() => readCursor(cursorText(forged, read({ q: 'dril' })), read({ q: 'dril' }))).toThrow(ApiError)
  })

  it.each(['', 'x', Buffer.from('{"a":[1]}').toString('base64url'), Buffer.from('null').toString('base64url')])('is not %o', (text) => {
    expect(() => readCursor(text, read({}))).toThrow(ApiError)
  })
})
