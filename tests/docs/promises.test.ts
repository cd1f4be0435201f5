import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { FAULT_KINDS } from '../chaos/schedule.ts'

const DOCS = join(import.meta.dirname, '../../docs')
const CHAOS = '../tests/chaos/schedule.ts'
/** Maximum length of a table cell. A longer text belongs in a paragraph. */
const MAX_CELL_CHARACTERS = 300
const LINK = /\[([^\]]+)\]\(([^)]+)\)/g

/** Returns each promise with the links below it. Skips the section "What is not promised". */
function promises(): { text: string; links: { title: string; path: string }[] }[] {
  const [promised] = readFileSync(join(DOCS, 'promises.md'), 'utf8').split('## What is not promised')
  const [, ...items] = promised.split(/^- /m)
  return items.map((item) => {
    const [text, ...tests] = item.split(/^ {2}- /m)
    return { text, links: tests.flatMap((line) => [...line.matchAll(LINK)].map(([, title, path]) => ({ title, path }))) }
  })
}

test('every promise has a test', () => {
  expect(promises().length).toBeGreaterThan(25)
  expect(promises().filter(({ links }) => links.length === 0)).toEqual([])
})

test('no cell of a table in promises.md is longer than 300 characters', () => {
  const rows = readFileSync(join(DOCS, 'promises.md'), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('|'))
  expect(rows.flatMap((row) => row.split('|')).filter((cell) => cell.length > MAX_CELL_CHARACTERS)).toEqual([])
})

test('every linked test exists with the title of the link', () => {
  const links = promises().flatMap((promise) => promise.links)
  const broken = links.filter(({ title, path }) => {
    const file = join(DOCS, path)
    if (!existsSync(file)) return true
    if (path === CHAOS) return !FAULT_KINDS.some((kind) => title === `\`${kind}\``)
    return !/\.test\.ts$/.test(path) || !readFileSync(file, 'utf8').includes(`'${title}'`)
  })
  expect(broken).toEqual([])
})

test('every fault of the chaos harness has a promise', () => {
  const named = new Set(promises().flatMap(({ links }) => links.filter(({ path }) => path === CHAOS).map(({ title }) => title)))
  expect([...named].sort()).toEqual(FAULT_KINDS.map((kind) => `\`${kind}\``).sort())
})
