import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '..', '..')
const GUIDE = join(ROOT, 'docs', 'guide')
const index = readFileSync(join(GUIDE, 'README.md'), 'utf8')
const chapters = readdirSync(GUIDE)
  .filter((file) => file.endsWith('.test.ts'))
  .sort()
const textOf = (chapter: string) => readFileSync(join(GUIDE, chapter), 'utf8')

/** Returns the lines between a heading of the index and the next heading. */
function section(heading: string): string {
  const start = index.indexOf(`## ${heading}\n`)
  expect(start).toBeGreaterThan(0)
  const end = index.indexOf('\n## ', start + 1)
  return index.slice(start, end < 0 ? undefined : end)
}

test('the index lists every chapter, in order', () => {
  const listed = [...index.matchAll(/\]\((\d\d-[^)]+)\)/g)].map((match) => match[1])
  expect(listed).toEqual(chapters)
  expect(chapters.map((chapter) => Number(chapter.slice(0, 2)))).toEqual(chapters.map((_, i) => i + 1))
})

test.each(chapters)('%s begins with its title, and names its sources and what to read next', (chapter) => {
  const text = textOf(chapter)
  const title = new RegExp(`^\\[${Number(chapter.slice(0, 2))}\\. (.+)\\]\\(${chapter}\\)`, 'm').exec(index.replaceAll('| [', '\n['))?.[1]
  expect(text.split('\n')[1]).toBe(` * # ${Number(chapter.slice(0, 2))}. ${title}`)
  expect(text).toContain(chapter === chapters.at(-1) ? 'You have read the guide.' : 'Read next: chapter')
  expect(text).toContain('Sources:')
})

test.each([...chapters, 'README.md'])('the files that %s names exist', (file) => {
  const named = [...textOf(file).matchAll(/`([\w.-]+(?:\/[\w.-]+)+)`/g)].map((match) => match[1])
  expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
})

test('chapters import exactly the modules that the index lists as public', () => {
  const publicModules = [...section('What you import').matchAll(/`([\w/.-]+\.ts)`/g)].map((match) => match[1])
  const imported = chapters.flatMap((chapter) => [...textOf(chapter).matchAll(/from '\.\.\/\.\.\/(.+)'/g)].map((match) => match[1]))
  expect([...new Set(imported)].sort()).toEqual([...publicModules].sort())
})
