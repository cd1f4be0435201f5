import { integer, type Random, seededRandom } from '../../random/random.ts'
import { weightedPick, zipfWeights } from '../../random/weighted.ts'

/** Everyday topics, most frequent first. They are the beginning of the vocabulary. */
const EVERYDAY = `good morning|#love|coffee time|#music|#nowplaying|last night|#photography|happy birthday|#fashion|#travel|my heart|
#food|so tired|#fitness|new album|#football|#sunset|best friend|#art|movie night|#cats|long day|#tbt|bus stop|#nature|#style|#beach|
right now|#gaming|#dogs|weekend plans|#weather|first time|#news|#coffee|#running|new shoes|#books|#jobs|#rain|home office|#yoga|
traffic jam|#cooking|exam week|#football season|train delay|#baking|#garden|road trip|#vinyl|lunch break|#cycling|#monday|#film`
  .split('|')
  .map((term) => term.trim())

const SYLLABLES =
  'ba be bo da de di do fa fi ga ge go ha he ka ke ki la le li lo ma me mi mo na ne ni no pa pe po ra re ri ro sa se si so ta te ti to va ve vi za zo'.split(
    ' ',
  )
const SHORTEST_SYLLABLES = 2
const MORE_SYLLABLES = 3
/** Number of terms, including the everyday topics. It is large enough that most terms are rare, as in reality. */
const VOCABULARY = 20_000
const ZIPF_EXPONENT = 1
const HASHTAG_SHARE = 0.6
const PHRASE_SHARE = 0.5

/**
 * A vocabulary whose frequencies follow Zipf's law. The seed determines the vocabulary. Each country has its own order
 * of terms, so that places differ.
 */
export interface Vocabulary {
  /** Draws a term with the global frequencies. */
  common(random: Random): string
  /** Draws a term with the country's frequencies. */
  local(random: Random, country: string): string
}

export function vocabulary(seed: number): Vocabulary {
  const random = seededRandom(seed)
  const terms = [...EVERYDAY]
  while (terms.length < VOCABULARY) terms.push(madeUpTerm(random))
  const draw = weightedPick(zipfWeights(VOCABULARY, ZIPF_EXPONENT))

  return {
    common: (next) => terms[draw(next)],
    local: (next, country) => terms[(draw(next) + placeOf(country)) % VOCABULARY],
  }
}

/** Returns the index, in the vocabulary, of the most frequent term of a country. */
function placeOf(country: string): number {
  const [first, second] = [country.charCodeAt(0), country.charCodeAt(1)]
  return EVERYDAY.length + (((first * 31 + second) * 97) % (VOCABULARY / 2))
}

function madeUpTerm(random: Random): string {
  if (random() < HASHTAG_SHARE) return `#${madeUpWord(random)}`
  return random() < PHRASE_SHARE ? `${madeUpWord(random)} ${madeUpWord(random)}` : madeUpWord(random)
}

/** Invents a word for a term or for the name of an event. */
export function madeUpWord(random: Random): string {
  const length = SHORTEST_SYLLABLES + integer(random, MORE_SYLLABLES)
  let word = ''
  for (let i = 0; i < length; i++) word += SYLLABLES[integer(random, SYLLABLES.length)]
  return word
}
