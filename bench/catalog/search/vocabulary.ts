import { expectedDataFolder } from '../../../scripts/config.ts'
import { seededRandom } from '../../../tools/random/random.ts'
import { readJudgments } from '../judgments.ts'
import { combinedTitles, generatedTitles, type Titles } from './titles.ts'

/** The texts from which products and searches are generated. */
export interface Vocabulary {
  readonly source: string
  readonly make: Titles
  readonly titles: readonly string[]
  readonly queries: readonly string[]
}

const SEED = 11
const GENERATED = 5_000

/** Returns real titles and queries if the data set is present, and generated ones otherwise. */
export function vocabulary(): Vocabulary {
  try {
    const { titles, queries } = readJudgments(expectedDataFolder(), 1)
    const all = [...titles.values()]
    return { source: 'real vocabulary', make: combinedTitles(all), titles: all, queries: queries.map(({ text }) => text) }
  } catch (error) {
    process.stdout.write(`using generated titles: ${(error as Error).message}\n`)
    const random = seededRandom(SEED)
    const titles = Array.from({ length: GENERATED }, () => generatedTitles(random))
    return {
      source: 'generated vocabulary',
      make: generatedTitles,
      titles,
      queries: titles.map((title) => title.split(' ').slice(2, 4).join(' ')),
    }
  }
}
