/** Words without topical meaning. Phrases neither begin nor end with such a word. */
const STOP_WORDS = new Set(
  `a about after again all also am an and any are aren't as at be because been before being but by can can't come could did didn't do does doesn't
doing don't done down for from get gets getting go goes going gonna got had has have haven't having he he's her here him his how i i'd i'll i'm
i've if in into is isn't it it's its just know let like lol lot make many me more most much my need new no not now of off oh ok on one only or
other our out over people please really right rt said say says see she should so some still such take than that that's the their them then
there there's these they they're thing things think this those though thru time to today too two u up ur us use very via wanna want was wasn't
way we we're well went were what what's when where which while who why will with won't would yeah yes you you're your`.split(/\s+/),
)
const HASHTAG = /[#＃]([\p{L}\p{N}_]*\p{L}[\p{L}\p{N}_]*)/gu
/** Matches links, mentions, hashtags and HTML entities. They end a sequence of words, as punctuation does. */
const NO_WORDS = /https?:\S+|www\.\S+|[@#＃]\S+|&\w+;/giu
const WORD_OR_BREAK = /[\p{L}\p{N}](?:[\p{L}\p{N}'’-]*[\p{L}\p{N}])?|[^\s\p{L}\p{N}]+/gu
const IS_WORD = /^[\p{L}\p{N}]/u
const ONLY_DIGITS = /^\d+$/
const SHORTEST_WORD = 2
const LONGEST_PHRASE_WORDS = 3
/** Maximum number of phrases per tweet. Further phrases are ignored. */
const MAX_PHRASES = 20

export interface Extracted {
  /** The hashtags as written, each with # in front; a full-width ＃ becomes #. */
  readonly hashtags: string[]
  /** Sequences of two or three words, as written in the text. */
  readonly phrases: string[]
}

/**
 * Extracts the hashtags and phrases from a text, as an extractor upstream of the service would. A phrase consists of
 * two or three adjacent words without punctuation, links, mentions or hashtags between them. A phrase neither begins
 * nor ends with a stop word, a number or a single letter.
 */
export function extractTerms(text: string): Extracted {
  const hashtags = [...text.matchAll(HASHTAG)].map(([, tag]) => `#${tag}`)
  return { hashtags: [...new Set(hashtags)], phrases: [...new Set(runsOfWords(text).flatMap(phrasesOf))].slice(0, MAX_PHRASES) }
}

function runsOfWords(text: string): string[][] {
  const runs: string[][] = [[]]
  for (const [token] of text.replace(NO_WORDS, ' | ').matchAll(WORD_OR_BREAK)) {
    if (IS_WORD.test(token)) runs[runs.length - 1].push(token)
    else runs.push([])
  }
  return runs
}

function phrasesOf(words: readonly string[]): string[] {
  const phrases: string[] = []
  for (let start = 0; start < words.length; start++) {
    if (!isTopical(words[start])) continue
    for (let length = 2; length <= LONGEST_PHRASE_WORDS && start + length <= words.length; length++) {
      if (isTopical(words[start + length - 1])) phrases.push(words.slice(start, start + length).join(' '))
    }
  }
  return phrases
}

function isTopical(word: string): boolean {
  return word.length >= SHORTEST_WORD && !ONLY_DIGITS.test(word) && !STOP_WORDS.has(word.toLowerCase().replace('’', "'"))
}
