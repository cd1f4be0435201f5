import hljs from 'highlight.js'
import { analyse } from 'scslre'
import { describe, expect, it } from 'vitest'
import { bounded, detectLanguage, EXAMINED_CHARACTERS, PLAINTEXT } from '../../../../api/snippets/languages/detect.ts'
import { furtherLanguages } from '../../../../api/snippets/languages/further.ts'
import { knownLanguage } from '../../../../api/snippets/languages/names.ts'
import { languages } from '../../../../api/snippets/languages/table.ts'
import { endsInTime } from '../../../ends-in-time.ts'
import { samples } from './samples.ts'

const prose = [
  'Hello world',
  'The meeting is on Tuesday at ten. Please bring the numbers of the last quarter, and tell me if you cannot come!',
  'Dear Sir or Madam,\n\nI am writing to you (for the second time) about my order: it has not arrived.\n\nYours, A. B.',
  'milk\neggs\nbread\n',
  '',
  'a',
  '12345 67890',
]

describe('the language of a text', () => {
  it.each(samples)('is %s for a sample in that language', (language, text) => {
    expect(detectLanguage(text)).toBe(language)
  })

  it.each(['\r', '\r\n', '\u2028'])('is detected if lines end with %j', (end) => {
    const text = '# comment\nname: x\nservices:\n  web:\n    image: nginx\n    ports:\n      - "80:80"\nversion: 3\n'
    expect(detectLanguage(text.replaceAll('\n', end))).toBe('yaml')
  })

  it.each(prose)('is plaintext for prose: %j', (text) => {
    expect(detectLanguage(text)).toBe(PLAINTEXT)
  })

  it('is plaintext if the patterns of every language match at most once', () => {
    expect(detectLanguage('#!/bin/bash')).toBe(PLAINTEXT)
    expect(detectLanguage('#!/bin/bash\necho hi')).toBe('bash')
  })

  it('does not depend on the number of blanks between words', () => {
    const blanks = ' '.repeat(100)
    expect(
      detectLanguage(`let x${blanks}:${blanks}string${blanks}=${blanks}'a'\nlet y${blanks}:${blanks}number${blanks}=${blanks}1\n`),
    ).toBe('typescript')
  })

  it('depends only on the beginning of the text', () => {
    const python = samples[0][1]
    expect(detectLanguage(`${' '.repeat(EXAMINED_CHARACTERS)}${python}`)).toBe(PLAINTEXT)
  })
})

describe('the table', () => {
  it('contains at least 30 languages and each name and alias once, and the highlighter supports all names', () => {
    expect(languages.length).toBeGreaterThanOrEqual(30)
    const names = languages.flatMap(({ name, aliases }) => [name, ...aliases])
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
    const known = [...names, ...furtherLanguages.flat(), 'text', 'txt', 'toml'].map((name) => knownLanguage(name) ?? '')
    expect(known.filter((name) => hljs.getLanguage(name) === undefined)).toEqual([])
  })

  it('resolves every name and alias of highlight.js, and each language that is not detected keeps its own grammar', () => {
    const grammars = hljs.listLanguages().map((name) => ({ name, aliases: hljs.getLanguage(name)?.aliases ?? [] }))
    const names = grammars.flatMap(({ name, aliases }) => [name, ...aliases])
    expect(names.filter((name) => knownLanguage(name) === undefined)).toEqual([])
    for (const [name, ...aliases] of furtherLanguages)
      expect([name, ...aliases].map(knownLanguage)).toEqual([name, ...aliases].map(() => name))
    expect(hljs.getLanguage(knownLanguage('x86asm')!)).toBe(hljs.getLanguage('x86asm'))
  })

  it('resolves an alias in any case, and returns undefined for unknown names', () => {
    expect(['PY', 'c++', 'Golang', 'text', 'toml', 'html'].map(knownLanguage)).toEqual(['python', 'cpp', 'go', 'plaintext', 'toml', 'html'])
    expect(['', 'klingon', '__proto__', 'constructor'].map(knownLanguage)).toEqual([undefined, undefined, undefined, undefined])
  })

  it('has no pattern with exponential backtracking, and every repetition is bounded', () => {
    for (const { name, patterns } of languages) {
      for (const [pattern] of patterns) {
        const exponential = analyse(new RegExp(pattern.source, `${pattern.flags}m`)).reports.filter((report) => report.exponential)
        expect(exponential, `${name}: ${pattern}`).toEqual([])
        const ends = bounded(pattern)
          .source.replaceAll(/\\./g, 'x')
          .replaceAll(/\[[^\]]*\]/g, 'x')
        expect(ends, name).not.toMatch(/[*+]|\{\d+,\}/)
      }
    }
  })

  it('leads to plaintext for a line of words with a colon after the first word', () => {
    expect(
      detectLanguage(
        'NEWS: Hurricane Sandy WILL BE the worst case scenario for East coast DO NOT assume predictions will be wrong! #sally',
      ),
    ).toBe(PLAINTEXT)
  })

  it('has no pattern that is slow on a text that repeats one string', () => {
    const hostile = [
      'a',
      ' ',
      '\t',
      '\n',
      '<',
      '(',
      '[',
      '{',
      '"',
      '=',
      '-',
      '#',
      '.',
      ':',
      '$',
      '/',
      '\\',
      'a ',
      'a,',
      'a.',
      '<a ',
      'a:',
      ' a=',
      '((',
      '{[',
      'select ',
      'a b=',
      '@a(',
      '\n \n',
      'fn a<',
      '$a',
      'a::',
      '"a":',
      '- a: ',
      'let a ',
    ]
    for (const piece of hostile) {
      const text = piece.repeat(Math.ceil(EXAMINED_CHARACTERS / piece.length))
      // A pattern that backtracks takes minutes.
      expect(() => endsInTime(() => detectLanguage(text)), JSON.stringify(piece)).not.toThrow()
    }
  })
})
