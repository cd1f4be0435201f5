/**
 * Compares how well this service and highlight.js detect the languages of the same files. The detection table was
 * developed on the set `markup`, whose fragments each show one element of syntax. The set `detect` has one whole file
 * for nearly every language, and only the beginnings of five of these files were used for development.
 */
import hljs from 'highlight.js'
import { detectLanguage, PLAINTEXT } from '../../api/snippets/languages/detect.ts'
import { languages } from '../../api/snippets/languages/table.ts'
import { commandLine, runMain } from '../../scripts/command-line/main.ts'
import { expectedDataFolder } from '../../scripts/config.ts'
import { dataSet } from '../../scripts/data-sets.ts'
import { filesOf } from './archive.ts'
import declaration from './run.command.ts'

/** A test file. The tests of highlight.js name its language. */
interface Sample {
  readonly set: string
  readonly language: string
  readonly text: string
}

type Guess = (text: string) => string

/** Maps detected languages to the languages of the test files. The test files count HTML as XML. */
const SAME: Readonly<Record<string, string>> = { html: 'xml' }
/**
 * Minimum relevance that highlight.js must report. Below it, the language counts as unknown, because highlight.js names
 * a language for any text.
 */
const MIN_RELEVANCE = 2
const PERCENT = 100
const SETS = ['detect', 'markup']
const COLUMNS = 3

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
  const samples: Sample[] = []
  for (const { path, text } of filesOf(dataSet(expectedDataFolder(), 'languages'))) {
    const [, set, language, file] = /^test\/(detect|markup)\/([^/]+)\/(.+)\.txt$/.exec(path) ?? []
    if (file === undefined || file.endsWith('.expect')) continue
    if (names.includes(language) || language === PLAINTEXT) samples.push({ set, language, text })
  }
  return samples
}

const percent = (part: number, whole: number) => (whole === 0 ? '–' : `${((part / whole) * PERCENT).toFixed(1)} %`)
const print = (line: string) => process.stdout.write(`${line}\n`)

interface Tally {
  /** Number of correctly detected files by set. */
  readonly right: Record<string, number>
  readonly files: Record<string, number>
  /** Number of files of other languages that were detected as this language. */
  wrong: number
}

async function main(): Promise<void> {
  commandLine(declaration)
  const samples = readSamples()
  print(`| files | ${Object.keys(guesses).join(' | ')} |\n|---|${'---:|'.repeat(Object.keys(guesses).length)}`)
  const tallies = new Map<string, Tally>()
  function tallyOf(language: string): Tally {
    const found = tallies.get(language) ?? { right: {}, files: {}, wrong: 0 }
    tallies.set(language, found)
    return found
  }

  for (const set of SETS) {
    const own = samples.filter((sample) => sample.set === set)
    const cells = Object.entries(guesses).map(([name, guess]) => {
      const start = performance.now()
      const said = own.map(({ text }) => guess(text))
      const ms = (performance.now() - start) / own.length
      const named = said.map((language) => SAME[language] ?? language)
      if (name === 'ours') for (const [index, { language }] of own.entries()) count(set, language, named[index])
      const right = own.filter(({ language }, index) => named[index] === language).length
      return `${percent(right, own.length)} (${right}, ${ms.toFixed(2)} ms each)`
    })
    print(`| ${set}: ${own.length} | ${cells.join(' | ')} |`)
  }

  function count(set: string, language: string, named: string): void {
    const tally = tallyOf(language)
    tally.files[set] = (tally.files[set] ?? 0) + 1
    if (named === language) tally.right[set] = (tally.right[set] ?? 0) + 1
    else tallyOf(named).wrong++
  }

  const sum = (counts: Readonly<Record<string, number>>) => Object.values(counts).reduce((total, one) => total + one, 0)
  const rows = [...tallies]
    .sort(([one], [other]) => one.localeCompare(other))
    .map(([language, { right, files, wrong }]) => {
      const recall = SETS.map((set) => (files[set] === undefined ? '–' : `${right[set] ?? 0}/${files[set]}`))
      return [language, ...recall, percent(sum(right), sum(right) + wrong)]
    })
  /** The table lists several languages per row, to save lines. */
  const height = Math.ceil(rows.length / COLUMNS)
  const repeated = (cells: readonly string[]) => Array.from({ length: COLUMNS }, () => cells).flat()
  print(
    `\n| ${repeated(['language', ...SETS, 'precision']).join(' | ')} |\n|${repeated(['---', ...SETS.map(() => '---:'), '---:']).join('|')}|`,
  )
  for (let line = 0; line < height; line++) {
    const beside = Array.from({ length: COLUMNS }, (_, column) => rows[column * height + line] ?? ['', ...SETS.map(() => ''), ''])
    print(`| ${beside.flat().join(' | ')} |`)
  }
}

await runMain(main)
