import { editDistance } from '../../../../schemas/edit-distance.ts'
import type { Query } from '../engine/query.ts'
import { type PlannedWord, plannedWords, type TextPlan } from './plan.ts'

/** Minimum length of a word that can be corrected. Shorter words resemble too many other words. */
const LEAST_CHARACTERS = 3
/**
 * Minimum length of a word that may differ from its correction by two letters. Shorter words may differ by one letter
 * only.
 */
const TWO_EDITS_CHARACTERS = 6
/** Maximum number of candidates per word that the search server returns, sorted by similarity and then by frequency. */
const CANDIDATES = 12
/**
 * Ratio of frequencies that makes a word doubtful. A word that occurs in products may still be a mistake if a word that
 * differs by one letter is this many times as frequent.
 */
const TIMES_AS_FREQUENT = 100
/**
 * Cost of each letter in which a correction differs from the word. One letter counts as much as a frequency that is e^4
 * (55) times as high. No other value did better on the relevance judgments.
 */
const EDIT_COST = 4
/** Maximum number of corrections that a search tries for a misspelt word. */
const MOST_CORRECTIONS = 2

/**
 * Counting the products with a word stops at this number, because counting further would cost as much as a search. A
 * word in this many products is never doubtful, because its exact frequency is unknown.
 */
const COMMON = 1_000

/** Data that the search server reports about a word of the query. */
export interface WordReport {
  /** Number of products with the word, at most COMMON. */
  readonly found: number
  readonly candidates: readonly Candidate[]
}

export interface Candidate {
  readonly text: string
  /** Number of products that contain the text. */
  readonly found: number
}

/** Returns the words of a plan that could be misspelt. */
export function doubtfulWords(plan: TextPlan): readonly PlannedWord[] {
  const unique = new Map(plannedWords(plan).map((word) => [word.text, word]))
  return [...unique.values()].filter(({ kind, text }) => kind === 'word' && text.length >= LEAST_CHARACTERS && !/\d/.test(text))
}

/**
 * Returns the searches that find words similar to the given words, and count the products with each of the given words.
 * Each word is counted in a separate search, because such a search can stop at COMMON. A single search with one filter
 * per word would have to visit every product.
 */
export function spellingSearches(words: readonly PlannedWord[]): readonly Query[] {
  if (words.length === 0) return []
  return [similarWords(words), ...words.map(({ text }) => ({ size: 0, track_total_hits: COMMON, query: knownWord(text) }))]
}

function similarWords(words: readonly PlannedWord[]): Query {
  return {
    size: 0,
    track_total_hits: false,
    query: { match_none: {} },
    suggest: Object.fromEntries(words.map(({ text }, at) => [`w${at}`, { text, term: similarTo(text) }])),
  }
}

function similarTo(text: string): Query {
  return {
    field: 'words.exact',
    analyzer: 'exact',
    suggest_mode: 'always',
    max_edits: text.length < TWO_EDITS_CHARACTERS ? 1 : 2,
    prefix_length: 0,
    min_word_length: LEAST_CHARACTERS,
    size: CANDIDATES,
    shard_size: CANDIDATES,
  }
}

function knownWord(text: string): Query {
  const should = [{ match: { words: text } }, { match: { more: text } }, { match: { 'words.pairs': { query: text, analyzer: 'stems' } } }]
  return { bool: { should } }
}

interface SpellingAnswer {
  readonly hits: { readonly total?: { readonly value: number } }
  readonly suggest?: Readonly<Record<string, readonly { readonly options: readonly { readonly text: string; readonly freq: number }[] }[]>>
}

/**
 * Reads the answers to `spellingSearches`.
 * @param words the same words as for the searches
 */
export function wordReports(
  words: readonly PlannedWord[],
  [similar, ...counts]: readonly SpellingAnswer[],
): ReadonlyMap<string, WordReport> {
  return new Map(
    words.map(({ text }, at) => {
      const options = similar.suggest?.[`w${at}`]?.[0]?.options ?? []
      const candidates = options.map((option) => ({ text: option.text, found: option.freq }))
      return [text, { found: counts[at].hits.total?.value ?? 0, candidates }]
    }),
  )
}

/** Returns the probable corrections of each misspelt word, best first. Words that are probably correct are left out. */
export function correctionsOf(reports: ReadonlyMap<string, WordReport>): ReadonlyMap<string, readonly string[]> {
  const corrections = new Map<string, readonly string[]>()
  for (const [text, { found, candidates }] of reports) {
    const likely = candidates
      .filter((candidate) => /^\p{L}+$/u.test(candidate.text) && candidate.text !== text)
      .map((candidate) => ({ ...candidate, edits: editDistance(text, candidate.text) }))
      .filter((candidate) => found === 0 || (found < COMMON && candidate.edits === 1 && candidate.found >= TIMES_AS_FREQUENT * found))
      .map((candidate) => ({
        ...candidate,
        value: Math.log1p(candidate.found) - EDIT_COST * costOf(text, candidate.text, candidate.edits),
      }))
      .sort((left, right) => right.value - left.value || (left.text < right.text ? -1 : 1))
    if (likely.length > 0)
      corrections.set(
        text,
        likely.slice(0, MOST_CORRECTIONS).map((candidate) => candidate.text),
      )
  }
  return corrections
}

/**
 * Additional cost, in edits, of a correction with a different first letter. People mistype the first letter less often
 * than later letters.
 */
const FIRST_LETTER_COST = 0.5

function costOf(text: string, candidate: string, edits: number): number {
  return text[0] === candidate[0] ? edits : edits + FIRST_LETTER_COST
}
