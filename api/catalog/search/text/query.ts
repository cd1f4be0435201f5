import type { Query } from '../engine/query.ts'
import { type Breadth, type PlannedPart, type PlannedWord, plannedWords, type TextPlan } from './plan.ts'

/**
 * Weight of each kind of match in the text score, relative to a word in the title or brand. The weights were learnt
 * from a part of the relevance judgments: npm run bench:search-quality
 */
export const TEXT_BOOSTS = {
  /** A correction of a misspelt word. */
  correction: 0.5,
  /** Two words of the query that the text of a product contains as one word. */
  joined: 0.42,
  /** One word of the query that the text of a product contains as two words. */
  split: 0.6,
  synonym: 0.8,
  attribute: 0.5,
  description: 0.2,
  /** Added if a number and its unit match together. */
  measure: 0.15,
  /** For words such as "with" and "for", which carry little meaning. */
  function: 0.3,
  /** Added if the product contains the word in the same form as the query. */
  exact: 0.2,
  /** Added if neighbouring words of the query are also neighbours in the product. */
  pair: 0.15,
  /** Added for a word that names the kind of product. */
  head: 0.1,
} as const

export type TextBoosts = Readonly<Record<keyof typeof TEXT_BOOSTS, number>>

/**
 * Minimum length of a word that the text of a product may contain as two words, such as Wi-Fi. Shorter words are hardly
 * ever written as two words.
 */
const LEAST_SPLIT_CHARACTERS = 4
/** Share of the words that must be found if not all words are required, in the syntax of `minimum_should_match`. */
const LEAST_FOUND = { most: '2<75%', half: '1<50%' } as const

export interface TextQuery {
  /** Clauses that select the products, and give the main part of the score. */
  readonly must: readonly Query[]
  readonly minimumShouldMatch?: string
  /** Clauses that only add to the score. */
  readonly should: readonly Query[]
}

/** Returns the clauses of a plan. The user's words are used only as text to match, never as query syntax. */
export function textQuery(plan: TextPlan, boosts: TextBoosts = TEXT_BOOSTS): TextQuery {
  const words = plannedWords(plan)
  const required = plan.parts.filter(isRequired)
  const chosen = required.length > 0 ? required : plan.parts
  const optional = words.filter(({ kind }) => kind === 'measure' || (kind === 'function' && required.length > 0))
  const text = words.map(({ text, corrections: [correction = text] }) => correction).join(' ')
  return {
    must: chosen.map((part) => partQuery(part, words, plan, boosts)),
    ...(isPartial(plan.breadth) && { minimumShouldMatch: LEAST_FOUND[plan.breadth] }),
    should: [
      ...optional.map(({ text, kind }) => match('words', text, kind === 'measure' ? boosts.measure : boosts.function)),
      match('words.exact', text, boosts.exact),
      match('head', text, boosts.head),
      ...(words.length > 1 ? [match('words.pairs', text, boosts.pair)] : []),
    ],
  }
}

/**
 * Returns the breadths that may find more than the exact words, narrowest first. `most` and `half` are left out if they
 * would require all words: `most` of two words would require both of them, and `half` of one word would require that
 * word.
 */
export function widerBreadths({ parts }: TextPlan): readonly Breadth[] {
  const required = parts.filter(isRequired).length || parts.length
  if (required === 1) return ['described']
  return required === 2 ? ['described', 'half'] : ['described', 'most', 'half']
}

function isPartial(breadth: Breadth): breadth is keyof typeof LEAST_FOUND {
  return breadth in LEAST_FOUND
}

function isRequired({ words, synonyms }: PlannedPart): boolean {
  return synonyms.length > 0 || words.some(({ kind }) => kind === 'word' || kind === 'number')
}

function partQuery({ words, synonyms }: PlannedPart, all: readonly PlannedWord[], plan: TextPlan, boosts: TextBoosts): Query {
  const own = words.filter(({ kind }) => kind !== 'measure').map((word) => anyOf(alternatives(word, all, plan, boosts)))
  if (synonyms.length === 0 && own.length === 1) return own[0]
  return anyOf([
    { bool: { must: own } },
    ...synonyms.map((texts) => ({ bool: { must: texts.map((text) => match('words', text, boosts.synonym)) } })),
  ])
}

function alternatives(word: PlannedWord, all: readonly PlannedWord[], { breadth }: TextPlan, boosts: TextBoosts): Query[] {
  const { text, kind, corrections } = word
  const found = [match('words', text, 1), match('more', text, boosts.attribute)]
  if (kind === 'word') {
    const at = all.indexOf(word)
    if (text.length >= LEAST_SPLIT_CHARACTERS)
      found.push({ match: { 'words.pairs': { query: text, analyzer: 'stems', boost: boosts.split } } })
    if (all[at - 1]?.kind === 'word') found.push(match('words', all[at - 1].text + text, boosts.joined))
    if (all[at + 1]?.kind === 'word') found.push(match('words', text + all[at + 1].text, boosts.joined))
  }
  for (const correction of corrections) found.push(match('words', correction, boosts.correction))
  if (breadth !== 'all') found.push(...[text, ...corrections].map((one) => match('description', one, boosts.description)))
  return found
}

function match(field: string, query: string, boost: number): Query {
  return { match: { [field]: { query, boost } } }
}

/**
 * Returns a query that finds the same products without scoring them. The server executes such a query faster, because
 * it can check blocks of products instead of finding the best alternative for each product.
 */
export function unscored(query: Query): Query {
  const { dis_max: alternatives, bool: all } = query as { dis_max?: { queries: readonly Query[] }; bool?: { must?: readonly Query[] } }
  if (alternatives !== undefined) return { bool: { should: alternatives.queries.map(unscored) } }
  return all?.must === undefined ? query : { bool: { filter: all.must.map(unscored) } }
}

function anyOf(queries: readonly Query[]): Query {
  return queries.length === 1 ? queries[0] : { dis_max: { queries } }
}
