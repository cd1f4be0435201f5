import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '..', '..')
/** Folders that contain no text written for this project. */
const FOREIGN = new Set(['node_modules', '.git', '.millrace'])
const WITH_LINKS = /\.(?:md|ts|avsc|py|lua)$/

function filesIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return FOREIGN.has(entry.name) ? [] : filesIn(path)
    return WITH_LINKS.test(entry.name) ? [path] : []
  })
}

/** A link to a file in the repository. */
interface Link {
  readonly from: string
  /** Path relative to the root of the repository. */
  readonly path: string
  readonly section: string | undefined
}

/** Matches Markdown's `[text](target)`. The target is relative to the file. */
const MARKDOWN_LINK = /\]\(([^()\s#]*)(?:#([^()\s]*))?\)/g
/** Matches a page that a comment names by its path relative to the root of the repository. */
const NAMED_PAGE = /(?<![\w./-])docs\/([\w/-]+\.md)(?:#([\w-]*))?/g

function linksOf(file: string, text: string): Link[] {
  const from = relative(ROOT, file)
  const named = [...text.matchAll(NAMED_PAGE)].map(([, page, section]) => ({ from, path: join('docs', page), section }))
  if (!file.endsWith('.md')) return named
  const relativeOnes = [...withoutCode(text).matchAll(MARKDOWN_LINK)]
    .filter(([, target]) => !/^[a-z]+:/.test(target))
    .map(([, target, section]) => ({ from, path: target === '' ? from : normalize(join(dirname(from), decodeURI(target))), section }))
  return [...named, ...relativeOnes]
}

function withoutCode(markdown: string): string {
  return markdown.replaceAll(/^(`{3,})[\s\S]*?^\1/gm, '')
}

/** Returns the anchors of a page's headings, in the form that GitHub gives them. */
function sectionsOf(markdown: string): Set<string> {
  const seen = new Map<string, number>()
  const headings = [...withoutCode(markdown).matchAll(/^#{1,6} +(.+?) *$/gm)].map(([, heading]) => anchorOf(heading))
  return new Set(
    headings.map((anchor) => {
      const before = seen.get(anchor) ?? 0
      seen.set(anchor, before + 1)
      return before === 0 ? anchor : `${anchor}-${before}`
    }),
  )
}

function anchorOf(heading: string): string {
  const shown = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
  return shown
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-')
}

const SAMPLE = '# Titles, and `code`\n\n```\n# no heading\n```\n\n## Same\n## Same\n### [Linked](x.md) – text\n'

test('anchors are derived from headings as on GitHub', () => {
  expect([...sectionsOf(SAMPLE)]).toEqual(['titles-and-code', 'same', 'same-1', 'linked--text'])
})

test('links are found in comments and in Markdown', () => {
  const page = join(ROOT, 'docs', 'a', 'b.md')
  expect(linksOf(join(ROOT, 'a.ts'), '/** docs/a/b.md#c (docs/d.md). See ../docs/e.md */')).toEqual([
    { from: 'a.ts', path: 'docs/a/b.md', section: 'c' },
    { from: 'a.ts', path: 'docs/d.md', section: undefined },
  ])
  expect(linksOf(page, '[one](../c.md#d) [two](#e) [three](https://example.com/#f)')).toEqual([
    { from: 'docs/a/b.md', path: 'docs/c.md', section: 'd' },
    { from: 'docs/a/b.md', path: 'docs/a/b.md', section: 'e' },
  ])
})

test('every link points to an existing page or section', () => {
  const own = relative(ROOT, import.meta.filename)
  const links = filesIn(ROOT)
    .filter((file) => relative(ROOT, file) !== own)
    .flatMap((file) => linksOf(file, readFileSync(file, 'utf8')))
  const broken = links.filter(({ path, section }) => {
    const target = join(ROOT, path)
    if (!existsSync(target)) return true
    if (section === undefined || !path.endsWith('.md') || statSync(target).isDirectory()) return false
    return !sectionsOf(readFileSync(target, 'utf8')).has(section)
  })
  expect(links.filter(({ section }) => section !== undefined).length).toBeGreaterThan(40)
  expect(broken).toEqual([])
})
