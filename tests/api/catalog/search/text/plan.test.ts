import { describe, expect, it } from 'vitest'
import { didYouMean } from '../../../../../api/catalog/search/results/did-you-mean.ts'
import { correctionsOf, doubtfulWords } from '../../../../../api/catalog/search/text/corrections.ts'
import { corrected, planOf } from '../../../../../api/catalog/search/text/plan.ts'
import { textQuery } from '../../../../../api/catalog/search/text/query.ts'
import { NO_SYNONYMS, synonymsOf } from '../../../../../api/catalog/search/text/synonyms.ts'

const plan = (q: string) => planOf(q, NO_SYNONYMS)!

describe('corrections', () => {
  const report = (found: number, ...candidates: [string, number][]) => ({
    found,
    candidates: candidates.map(([text, of]) => ({ text, found: of })),
  })

  it('corrections prefer near words to frequent ones, but a far more frequent word may outweigh a nearer one', () => {
    const reports = new Map([['faucit', report(0, ['faucet', 800], ['facit', 1], ['faucets', 900])]])
    expect(correctionsOf(reports).get('faucit')).toEqual(['faucet', 'faucets'])
  })

  it('a known word is not corrected unless a much more frequent word differs by one letter', () => {
    expect(correctionsOf(new Map([['cord', report(40, ['cards', 90])]])).size).toBe(0)
    expect(correctionsOf(new Map([['stainles', report(2, ['stainless', 4_000])]])).get('stainles')).toEqual(['stainless'])
  })

  it('a word that 1,000 products have is not corrected, because products are counted only up to this number', () => {
    expect(correctionsOf(new Map([['woman', report(999, ['women', 100_000])]])).get('woman')).toEqual(['women'])
    expect(correctionsOf(new Map([['woman', report(1_000, ['women', 100_000])]])).size).toBe(0)
  })

  it('numbers, model numbers and short words are not corrected', () => {
    expect(doubtfulWords(plan('1/2 in mcm111ost tv drill')).map(({ text }) => text)).toEqual(['drill'])
  })

  it('corrections are shown in the query as the caller wrote it', () => {
    const found = corrected(plan('White FAUCIT, 4 in.'), 'described', new Map([['faucit', ['faucet', 'faults']]]))
    expect(didYouMean('White FAUCIT, 4 in.', found)).toBe('White faucet, 4 in.')
    expect(didYouMean('white faucet', plan('white faucet'))).toBeNull()
  })
})

describe('synonyms', () => {
  const synonyms = synonymsOf([
    { terms: ['sofa', 'couch'], one_way: false },
    { terms: ['AC', 'air conditioner'], one_way: false },
    { terms: ['footwear', 'shoe', 'boot'], one_way: true },
  ])
  const alternatives = (q: string) => planOf(q, synonyms)!.parts.map(({ synonyms: found }) => found)

  it('synonyms work in both directions; one-way synonyms work only from the first term', () => {
    expect(alternatives('red couch')).toEqual([[], [['sofa']]])
    expect(alternatives('footwear')).toEqual([[['shoe'], ['boot']]])
    expect(alternatives('boot')).toEqual([[]])
  })

  it('synonyms add at most 200 words to one query, because the search server limits the number of clauses', () => {
    const words = Array.from({ length: 24 }, (_, at) => `sofa${at}`)
    const terms = Array.from({ length: 19 }, (_, at) => `one${at} two${at} three${at} four${at}`)
    const many = synonymsOf(words.map((word) => ({ terms: [word, ...terms], one_way: false })))
    const { parts } = planOf(words.join(' '), many)!
    expect(parts).toHaveLength(24)
    expect(parts.flatMap(({ synonyms: found }) => found).flat()).toHaveLength(200)
  })

  it('synonyms can replace several words at once', () => {
    const { parts } = planOf('window air conditioner', synonyms)!
    expect(parts.map(({ words }) => words.map(({ text }) => text))).toEqual([['window'], ['air', 'conditioner']])
    expect(alternatives('air conditioner')).toEqual([[['ac']]])
    expect(alternatives('ac')).toEqual([[['air', 'conditioner']]])
  })
})

describe('the text query', () => {
  it('requires all words except units of numbers and function words, unless a function word is the whole query', () => {
    expect(textQuery(plan('fan with remote')).must).toHaveLength(2)
    expect(textQuery(plan('with')).must).toHaveLength(1)
    expect(textQuery(plan('1/2 in')).must).toHaveLength(1)
  })

  it('uses only the first 24 words of a query', () => {
    const words = Array.from({ length: 30 }, (_, at) => `word${at}`)
    expect(textQuery(plan(words.join(' '))).must).toHaveLength(24)
    expect(plan(words.join(' ')).parts.at(-1)).toMatchObject({ words: [{ text: 'word23' }] })
  })

  it('contains text from users only as text to be matched', () => {
    const hostile = '") OR * {"match_all":{}} title:x~2'
    const strings: string[] = []
    JSON.stringify(textQuery(plan(hostile)), (_key, value) => {
      if (typeof value === 'string') strings.push(value)
      return value
    })
    expect(strings.filter((text) => /[^\p{L}\p{N} /.<%-]/u.test(text))).toEqual([])
    expect(strings.length).toBeGreaterThan(0)
  })

  it('searches descriptions with the breadth `described`, but not with `all`', () => {
    const fields = (breadth: 'all' | 'described') => JSON.stringify(textQuery({ ...plan('drill'), breadth }))
    expect(fields('all')).not.toContain('description')
    expect(fields('described')).toContain('description')
  })
})
