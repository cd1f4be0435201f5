import { integer, pick, type Random } from '../../../tools/random/random.ts'

/** Returns a random product title. */
export type Titles = (random: Random) => string

const BRANDS = ['Aldera', 'Bruno', 'Castell', 'Dorne', 'Elvik', 'Farrow', 'Gantry', 'Holt', 'Iverson', 'Jarl', 'Kestrel', 'Lumen']
const ADJECTIVES = ['adjustable', 'brushed', 'compact', 'cordless', 'dimmable', 'folding', 'galvanized', 'heavy duty', 'insulated', 'oak']
const NOUNS = [
  'bench',
  'cabinet',
  'ceiling fan',
  'chisel',
  'drill',
  'faucet',
  'hinge',
  'lamp',
  'ladder',
  'mower',
  'paint',
  'shelf',
  'tile',
  'vanity',
]
const COLOURS = ['black', 'blue', 'bronze', 'chrome', 'grey', 'nickel', 'red', 'white']
const SYLLABLES = ['ba', 'cor', 'del', 'fen', 'gro', 'hal', 'kin', 'lor', 'mas', 'nor', 'pel', 'quin', 'ras', 'tor', 'vel', 'wex']
/**
 * Number of invented names. Every title contains one of them. A few names are in many titles, and most names are rare.
 */
const NAMES = 20_000

/** Generates titles with frequent and rare words, as in a real catalogue. */
export const generatedTitles: Titles = (random) => {
  const size = `${1 + integer(random, 96)} in.`
  const name = nameOf(Math.floor(random() ** 3 * NAMES))
  return `${pick(random, BRANDS)} ${name} ${pick(random, ADJECTIVES)} ${pick(random, NOUNS)} ${size} in ${pick(random, COLOURS)}`
}

function nameOf(number: number): string {
  const [last, middle, first] = [number % 16, Math.floor(number / 16) % 16, Math.floor(number / 256) % 80]
  return `${SYLLABLES[first % 16]}${SYLLABLES[middle]}${SYLLABLES[last]}${first >= 16 ? SYLLABLES[Math.floor(first / 16)] : ''}`
}

/**
 * Returns a generator of titles. Each title combines the first half of one real title with the second half of another,
 * so that even a million titles seldom repeat.
 */
export function combinedTitles(titles: readonly string[]): Titles {
  const halves = titles.map((title) => {
    const words = title.split(' ')
    const middle = Math.ceil(words.length / 2)
    return { start: words.slice(0, middle).join(' '), end: words.slice(middle).join(' ') }
  })
  return (random) => `${pick(random, halves).start} ${pick(random, halves).end}`.slice(0, 500)
}
