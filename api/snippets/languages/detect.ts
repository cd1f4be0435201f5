import { type Language, languages } from './table.ts'

export const PLAINTEXT = 'plaintext'

/** The beginning says it; what follows only costs. */
export const EXAMINED_CHARACTERS = 8_192
/** Specification C: fewer matches than this are chance. */
const MIN_MATCHES = 2
/** Two matches that many languages share, such as a call and a comment, are still chance. */
const MIN_SCORE = 3
/** Further matches of one pattern say nothing new. */
const MAX_MATCHES = 6
/** What `*` and `+` mean in the table, so that no text takes longer than its length times this. */
const MAX_REPEATS = 60

interface Compiled {
  readonly name: string
  readonly patterns: readonly { readonly pattern: RegExp; readonly weight: number }[]
}

const compiled: readonly Compiled[] = languages.map(({ name, patterns }: Language) => ({
  name,
  patterns: patterns.map(([pattern, weight]) => ({ pattern: bounded(pattern), weight })),
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
 * Fewer than two matches: plaintext.
 */
export function detectLanguage(text: string): string {
  const examined = text.slice(0, EXAMINED_CHARACTERS)
  let best = PLAINTEXT
  let bestScore = 0
  for (const { name, patterns } of compiled) {
    let matches = 0
    let score = 0
    for (const { pattern, weight } of patterns) {
      const found = countMatches(pattern, examined)
      if (found === 0) continue
      matches += found
      score += weight * (1 + Math.log2(found))
    }
    if (matches < MIN_MATCHES || score <= bestScore || score < MIN_SCORE) continue
    best = name
    bestScore = score
  }
  return best
}

function countMatches(pattern: RegExp, text: string): number {
  pattern.lastIndex = 0
  let found = 0
  while (found < MAX_MATCHES && pattern.test(text)) found++
  return found
}
