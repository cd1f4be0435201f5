import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { TASKS } from '../../scripts/tasks.mjs'

const readme = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8')
/** Maximum number of bullets in the section "Not yet", which is for the limits that matter most to a new reader. */
const MAX_NOT_YET = 10

test('the table of commands lists every task, and no other', () => {
  const listed = [...readme.matchAll(/^\| `npm (?:run )?([\w:-]+)` \|/gm)].map(([, task]) => task)
  expect(listed.toSorted()).toEqual(Object.keys(TASKS).toSorted())
})

test('the section "Not yet" stays short', () => {
  const items = readme
    .slice(readme.indexOf('\n## Not yet'))
    .split('\n')
    .filter((line) => line.startsWith('- '))
  expect(items.length).toBeGreaterThan(0)
  expect(items.length).toBeLessThanOrEqual(MAX_NOT_YET)
})
