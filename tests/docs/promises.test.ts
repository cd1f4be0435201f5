import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { FAULT_KINDS } from '../chaos/schedule.ts'

const DOCS = join(import.meta.dirname, '../../docs')
const CHAOS = '../tests/chaos/schedule.ts'
const LINK = /\[([^\]]+)\]\(([^)]+)\)/g

/** The rows of all tables, without their heads, as the links of their last cells. */
function rows(): { text: string; links: { title: string; path: string }[] }[] {
  const lines = readFileSync(join(DOCS, 'promises.md'), 'utf8').split('\n')
  const isHead = (at: number) => lines[at + 1]?.startsWith('|---') === true || lines[at].startsWith('|---')
  return lines.flatMap((text, at) => {
    if (!text.startsWith('| ') || isHead(at)) return []
    const last = text.split(' | ').at(-1) ?? ''
    return [{ text, links: [...last.matchAll(LINK)].map(([, title, path]) => ({ title, path })) }]
  })
}

test('every promise has a test behind it', () => {
  expect(rows().length).toBeGreaterThan(25)
  expect(rows().filter(({ links }) => links.length === 0)).toEqual([])
})

test('every test named there exists under that title', () => {
  const links = rows().flatMap((row) => row.links)
  const broken = links.filter(({ title, path }) => {
    const file = join(DOCS, path)
    if (!existsSync(file)) return true
    if (path === CHAOS) return !FAULT_KINDS.some((kind) => title === `\`${kind}\``)
    return !/\.test\.ts$/.test(path) || !readFileSync(file, 'utf8').includes(`'${title}'`)
  })
  expect(broken).toEqual([])
})

test('every fault of the chaos harness is promised something', () => {
  const named = new Set(rows().flatMap(({ links }) => links.filter(({ path }) => path === CHAOS).map(({ title }) => title)))
  expect([...named].sort()).toEqual(FAULT_KINDS.map((kind) => `\`${kind}\``).sort())
})
