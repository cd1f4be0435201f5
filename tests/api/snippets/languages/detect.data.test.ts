import hljs from 'highlight.js'
import { expect, test } from 'vitest'
import { detectLanguage, PLAINTEXT } from '../../../../api/snippets/languages/detect.ts'
import { languages } from '../../../../api/snippets/languages/table.ts'
import { filesOf } from '../../../../bench/languages/archive.ts'
import { dataTest } from '../../../public-data.ts'
import { samples } from './samples.ts'

const names = new Set(languages.map(({ name }) => name))

/**
 * Counts the texts whose language this project's detection names correctly (`ours`), and those whose language
 * highlight.js names correctly if it has the same languages to choose from (`theirs`).
 */
function score(texts: Iterable<readonly [language: string, text: string]>): { all: number; ours: number; theirs: number } {
  let [all, ours, theirs] = [0, 0, 0]
  for (const [language, text] of texts) {
    all++
    const said = detectLanguage(text)
    if (said === language || (language === 'xml' && said === 'html')) ours++
    if (hljs.highlightAuto(text, [...names]).language === language) theirs++
  }
  return { all, ours, theirs }
}

dataTest(
  'languages',
  'the detection names the languages of at least 85 % of unknown real files, and of more files than highlight.js does',
  (archive) => {
    const texts: [string, string][] = []
    for (const { path, text } of filesOf(archive)) {
      const language = /^test\/detect\/([^/]+)\/default\.txt$/.exec(path)?.[1]
      if (language !== undefined && (names.has(language) || language === PLAINTEXT)) texts.push([language, text])
    }
    const { all, ours, theirs } = score(texts)
    expect(all).toBeGreaterThan(60)
    expect(ours / all).toBeGreaterThanOrEqual(0.85)
    expect(ours).toBeGreaterThan(theirs)
  },
)

test('the detection names the languages of all samples, and of more samples than highlight.js does', () => {
  const { all, ours, theirs } = score(samples)
  expect(ours).toBe(all)
  expect(ours).toBeGreaterThan(theirs)
})
