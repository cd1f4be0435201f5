import { normalised } from '../../schemas/normalised.ts'
import { type Region, regions } from '../../schemas/trends/places/regions.ts'

interface NamedRegion {
  readonly region: Region
  /** The name in normalised letters. A space precedes the name, so that every word begins after a space. */
  readonly words: string
}

const MARKS = /\p{M}/gu
const APOSTROPHES = /['’ʼ]/gu
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
  const letters = normalised(name, 'NFKD').replace(MARKS, '').replace(APOSTROPHES, '').toLowerCase().replaceAll('ı', 'i')
  return letters.replace(OTHER_CHARACTERS, ' ').trim()
}
