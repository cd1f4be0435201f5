import { existsSync } from 'node:fs'
import { join } from 'node:path'
import hljs from 'highlight.js'
import { detectLanguage, PLAINTEXT } from '../../api/snippets/languages/detect.ts'
import { languages } from '../../api/snippets/languages/table.ts'
import { dataFolder } from '../../scripts/config.ts'
import { filesOf } from './archive.ts'

/**
 * Which language a text is in: our detection and highlight.js' on the same files. `markup` is what the table was developed on: fragments
 * that show one piece of syntax each. `detect` was not looked at: one file per language.
 */
interface Sample {
  readonly set: string
  readonly language: string
  readonly text: string
}

type Guess = (text: string) => string

/** What the test files tell apart and this service does not. */
const SAME: Readonly<Record<string, string>> = { html: 'xml' }
/** highlight.js names a language for any text; below this it says itself that it does not know. */
const MIN_RELEVANCE = 2
const PERCENT = 100

const names = languages.map(({ name }) => name)
const guesses: Readonly<Record<string, Guess>> = {
  ours: detectLanguage,
  'highlight.js, all its languages': (text) => highlighted(hljs.highlightAuto(text)),
  'highlight.js, our languages': (text) => highlighted(hljs.highlightAuto(text, names)),
}

function highlighted({ language, relevance }: { language?: string; relevance: number }): string {
  return relevance < MIN_RELEVANCE ? PLAINTEXT : (language ?? PLAINTEXT)
}

function readSamples(): Sample[] {
  const archive = join(dataFolder(), 'languages', 'hljs-tests.tar.gz')
  if (!existsSync(archive)) throw new Error(`${archive} is not there: the public data sets are needed`)
  const samples: Sample[] = []
  for (const { path, text } of filesOf(archive)) {
    const [, set, language, file] = /^test\/(detect|markup)\/([^/]+)\/(.+)\.txt$/.exec(path) ?? []
    if (file === undefined || file.endsWith('.expect')) continue
    if (names.includes(language) || language === PLAINTEXT) samples.push({ set, language, text })
  }
  return samples
}

const percent = (part: number, whole: number) => (whole === 0 ? '–' : `${((part / whole) * PERCENT).toFixed(1)} %`)
const print = (line: string) => process.stdout.write(`${line}\n`)

const samples = readSamples()
print(`| files | ${Object.keys(guesses).join(' | ')} |\n|---|${'---:|'.repeat(Object.keys(guesses).length)}`)
const perLanguage = new Map<string, { right: number; wrong: number; missed: number }>()
const at = (language: string) => {
  const found = perLanguage.get(language) ?? { right: 0, wrong: 0, missed: 0 }
  perLanguage.set(language, found)
  return found
}
for (const set of ['detect', 'markup']) {
  const own = samples.filter((sample) => sample.set === set)
  const cells = Object.entries(guesses).map(([name, guess]) => {
    const start = performance.now()
    let right = 0
    for (const { language, text } of own) {
      const said = guess(text)
      const isRight = (SAME[said] ?? said) === language
      if (isRight) right++
      if (name !== 'ours') continue
      if (isRight) at(language).right++
      else {
        at(language).missed++
        at(SAME[said] ?? said).wrong++
      }
    }
    const ms = (performance.now() - start) / own.length
    return `${percent(right, own.length)} (${right}, ${ms.toFixed(2)} ms each)`
  })
  print(`| ${set}: ${own.length} | ${cells.join(' | ')} |`)
}
print('\n| language | files | precision | recall |\n|---|---:|---:|---:|')
for (const [language, { right, wrong, missed }] of [...perLanguage].sort(([a], [b]) => a.localeCompare(b))) {
  print(`| ${language} | ${right + missed} | ${percent(right, right + wrong)} | ${percent(right, right + missed)} |`)
}
