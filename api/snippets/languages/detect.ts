import { gramsOf, type MayMatch, mayMatch } from './grams.ts'
import { type Language, languages } from './table.ts'

export const PLAINTEXT = 'plaintext'

/** The beginning says it; what follows only costs. */
export const EXAMINED_CHARACTERS = 8_192
/** Fewer matches than this are chance: docs/services/snippets.md#language */
const MIN_MATCHES = 2
/** Two matches that many languages share, such as a call and a comment, are still chance. */
const MIN_SCORE = 3
/** Further matches of one pattern say nothing new. */
const MAX_MATCHES = 6
/** Sums of the same numbers in another order differ by less. */
const ROUNDING = 1e-6
/** What `*` and `+` mean in the table, so that no text takes longer than its length times this. */
const MAX_REPEATS = 60

interface CompiledPattern {
  readonly pattern: RegExp
  readonly mayMatch: MayMatch
  readonly weight: number
}

interface CompiledLanguage {
  readonly name: string
  readonly patterns: readonly CompiledPattern[]
}

/** A language with those of its patterns that may match, and the most that these could say. */
interface Candidate {
  readonly order: number
  readonly name: string
  readonly patterns: readonly CompiledPattern[]
  readonly most: number
}

const compiled: readonly CompiledLanguage[] = languages.map(({ name, patterns }: Language) => ({
  name,
  patterns: patterns.map(([pattern, weight]) => ({ pattern: bounded(pattern), mayMatch: mayMatch(pattern), weight })),
}))

/**
 * The pattern as it is run: everywhere in the text, by line, and with an end to every repetition. A pattern whose repetitions do not
 * contain each other then takes at most a constant number of steps from each position.
 */
export function bounded({ source, flags }: RegExp): RegExp {
  let inClass = false
  let result = ''
  for (let at = 0; at < source.length; at++) {
    const character = source[at]
    if (character === '\\') {
      result += source.slice(at, at + 2)
      at++
      continue
    }
    if (character === '[') inClass = true
    else if (character === ']') inClass = false
    if (!inClass && character === '*') result += `{0,${MAX_REPEATS}}`
    else if (!inClass && character === '+') result += `{1,${MAX_REPEATS}}`
    else result += character
  }
  return new RegExp(result, `${flags}gm`)
}

/**
 * The language that most patterns speak for, by their weights; a pattern that matches again and again says a little more each time.
 * Fewer than two matches: plaintext. Patterns whose literals the text does not hold are not run, nor are languages that could not win any
 * more: the answer is the same, for a tenth of the work.
 */
export function detectLanguage(text: string): string {
  const examined = text.slice(0, EXAMINED_CHARACTERS)
  let best = { name: PLAINTEXT, order: 0, score: 0 }
  for (const candidate of candidatesFor(examined)) {
    if (candidate.most < best.score) break
    const score = scoreOf(candidate, examined, best.score)
    const isBetter = score > best.score || (score === best.score && candidate.order < best.order)
    if (score >= MIN_SCORE && isBetter) best = { ...candidate, score }
  }
  return best.name
}

/** Most promising ones first. */
function candidatesFor(text: string): Candidate[] {
  const grams = gramsOf(text)
  const gramsInSmallLetters = gramsOf(text.toLowerCase())
  const isPossible = ({ pattern, mayMatch }: CompiledPattern) => mayMatch(pattern.ignoreCase ? gramsInSmallLetters : grams)
  return compiled
    .map(({ name, patterns }, order) => {
      const possible = patterns.filter(isPossible)
      return { order, name, patterns: possible, most: possible.reduce((sum, { weight }) => sum + said(weight, MAX_MATCHES), 0) }
    })
    .sort((a, b) => b.most - a.most)
}

/** @returns 0 where fewer than two match, or where it could not reach `wanted` any more */
function scoreOf({ patterns, most }: Candidate, text: string, wanted: number): number {
  let matches = 0
  let score = 0
  let rest = most
  for (const { pattern, weight } of patterns) {
    if (score + rest < wanted - ROUNDING) return 0
    rest -= said(weight, MAX_MATCHES)
    const found = countMatches(pattern, text)
    if (found === 0) continue
    matches += found
    score += said(weight, found)
  }
  return matches < MIN_MATCHES ? 0 : score
}

function said(weight: number, matches: number): number {
  return weight * (1 + Math.log2(matches))
}

function countMatches(pattern: RegExp, text: string): number {
  pattern.lastIndex = 0
  let found = 0
  while (found < MAX_MATCHES && pattern.test(text)) found++
  return found
}
