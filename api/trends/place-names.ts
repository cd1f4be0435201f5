import { normalised } from '../../schemas/normalised.ts'
import { type Region, regions } from '../../schemas/trends/places/regions.ts'

interface NamedRegion {
  readonly region: Region
  /** The name in normalised letters. A space precedes the name, so that every word begins after a space. */
  readonly words: string
}

const MARKS = /\p{M}/gu
const APOSTROPHES = /['’ʼ]/gu
/** Letters that Unicode does not decompose, and the plain letters that people type if their keyboard lacks them. */
const PLAIN_LETTERS: Readonly<Record<string, string>> = { ı: 'i', ł: 'l', đ: 'd', ø: 'o', ß: 'ss' }
const SPECIAL_LETTERS = new RegExp(`[${Object.keys(PLAIN_LETTERS).join('')}]`, 'gu')
const OTHER_CHARACTERS = /[^\p{L}\p{N}]+/gu

const named: readonly NamedRegion[] = regions.map((region) => ({ region, words: ` ${comparable(region.name)}` }))

/**
 * Returns the places whose name begins with the text, followed by the places in whose name a later word begins with the
 * text. Each group is in the order of `regions`. Case, accents and punctuation do not matter.
 */
export function placesNamed(text: string): Region[] {
  const wanted = comparable(text)
  if (wanted === '') return []
  const found = named.map(({ region, words }) => ({ region, at: words.indexOf(` ${wanted}`) })).filter(({ at }) => at >= 0)
  const [first, later] = [found.filter(({ at }) => at === 0), found.filter(({ at }) => at > 0)]
  return [...first, ...later].map(({ region }) => region)
}

function comparable(name: string): string {
  const letters = normalised(name, 'NFKD').replace(MARKS, '').replace(APOSTROPHES, '').toLowerCase()
  const plain = letters.replace(SPECIAL_LETTERS, (letter) => PLAIN_LETTERS[letter])
  return plain.replace(OTHER_CHARACTERS, ' ').trim()
}
