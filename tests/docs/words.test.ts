import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Text, textsOfCode, textsOfMarkdown } from './texts.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const MAX_COLUMNS = 120
/** Files and folders that are checked in addition to all documents. `['']` checks the whole repository. */
const AREAS: readonly string[] = ['']
const DOCUMENT = /\.md$/
const inAreas = (path: string) => DOCUMENT.test(path) || AREAS.some((area) => path.startsWith(area))
/** Files that quote the unwanted words and are therefore not checked. */
const EXEMPT = new Set(['tests/docs/words.test.ts', 'CONTRIBUTING.md'])
/** Files that `npm run schemas` generates. */
const GENERATED = /^schemas\/[^/]+\/types\.ts$/

interface Rule {
  readonly name: string
  readonly kinds: readonly Text['kind'][]
  readonly breaks: (text: Text) => boolean
}

const EVERY_KIND = ['comment', 'string', 'prose', 'table'] as const
const pattern = (name: string, regex: RegExp, kinds: readonly Text['kind'][] = EVERY_KIND): Rule => ({
  name,
  kinds,
  breaks: ({ text }) => regex.test(text),
})

const RULES: readonly Rule[] = [
  {
    name: `wider than ${MAX_COLUMNS} columns`,
    kinds: ['comment', 'prose'],
    breaks: ({ text, columns = 0 }) => columns > MAX_COLUMNS && !/https?:\/\/|biome-ignore|^\s*\* \|/.test(text),
  },
  pattern('"told": say what happens, in the active voice', /\btold\b/i),
  pattern('"whoever": name the caller, the reader or the process', /\bwhoever\b/i),
  pattern('"anew": say "again", "rebuild" or "restart"', /\banew\b/i),
  pattern('"besides": say "in addition to" or "apart from"', /\bbesides\b/i),
  pattern('"in the order of time": say "in chronological order"', /\bin the order of time\b/i),
  pattern('"another X than": say "a different X from" or name the difference', /\banother (?!rather\b)\w+ than\b/i),
  pattern('"for ever": write "forever"', /\bfor ever\b/i),
  pattern('"the one before": write "the previous one"', /\bthe one before(?=[.,;:)]|$)/),
  pattern('", also if": write ", even if"', /, also (?:if|when|while)\b/),
  pattern('"at most so many": write "at most this many"', /\b(?:at most|at least|about|after) so many\b/i),
  pattern('"above so many": write "above this many"', /\b(?:above|below|from|over) so many\b/i),
  pattern('"stands in the file": write "is in"', /\bstands? in (?!for\b)/i, ['comment', 'prose', 'table']),
  pattern('cites a specification that no reader has: give the reason', /\bspec(?:ification)? [A-H]\b|\bdecisions?, [A-H]\b/),
  pattern('"he" or "him": a program is "it"', /(?<![\w'])(?:he|him)(?![\w'-])/i, ['comment', 'prose', 'table']),
]

function textsOf(path: string): Text[] {
  const source = readFileSync(join(ROOT, path), 'utf8')
  return path.endsWith('.md') ? textsOfMarkdown(source) : textsOfCode(source)
}

function faultsIn(path: string): string[] {
  return textsOf(path).flatMap((text) =>
    RULES.filter((rule) => rule.kinds.includes(text.kind) && rule.breaks(text)).map(
      (rule) => `${path}:${text.line}: ${rule.name}: ${text.text.trim().slice(0, MAX_COLUMNS)}`,
    ),
  )
}

test('no text contains unwanted words, and comments and prose keep to the maximum width', () => {
  const tracked = execFileSync('git', ['ls-files', '-z', '*.ts', '*.mjs', '*.md'], { cwd: ROOT, encoding: 'utf8' })
  const paths = tracked.split('\0').filter((path) => path !== '' && !EXEMPT.has(path) && !GENERATED.test(path) && inAreas(path))
  expect(paths.length).toBeGreaterThan(0)
  expect(paths.flatMap(faultsIn)).toEqual([])
})

test('comments are found next to strings and regular expressions', () => {
  const source = [
    "const url = 'http://a b' // one",
    "const slash = /[/]'/ // two",
    '/** three',
    ' * four */',
    'const c = `',
    '// text`',
  ].join('\n')
  const comments = textsOfCode(source).filter(({ kind }) => kind === 'comment')
  expect(comments.map(({ line, text }) => [line, text])).toEqual([
    [1, '// one'],
    [2, '// two'],
    [3, '/** three'],
    [4, ' * four */'],
  ])
})

test('the width of code, tables and link targets is ignored', () => {
  const long = 'x'.repeat(MAX_COLUMNS)
  const source = ['```', long, '```', `| ${long} |`, `[a](${long})`, `    ${long}`, 'prose'].join('\n')
  const wide = textsOfMarkdown(source).filter(({ kind, columns = 0 }) => kind === 'prose' && columns > MAX_COLUMNS)
  expect(wide).toEqual([])
})
