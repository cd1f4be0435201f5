import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { answerOf } from '../../scripts/command-line/check.ts'
import { TASKS } from '../../scripts/tasks.mjs'

const ROOT = join(import.meta.dirname, '../..')
const readme = readFileSync(join(ROOT, 'README.md'), 'utf8')
/** Maximum number of bullets in the section "Not yet". The section is only for limits that matter to a new reader. */
const MAX_NOT_YET = 10

test('the table of commands lists exactly the tasks that exist', () => {
  const listed = [...readme.matchAll(/^\| `npm (?:run )?([\w:-]+)` \|/gm)].map(([, task]) => task)
  expect(listed.toSorted()).toEqual(Object.keys(TASKS).toSorted())
})

test('the section "Not yet" has at least one item and at most ten', () => {
  const items = readme
    .slice(readme.indexOf('\n## Not yet'))
    .split('\n')
    .filter((line) => line.startsWith('- '))
  expect(items.length).toBeGreaterThan(0)
  expect(items.length).toBeLessThanOrEqual(MAX_NOT_YET)
})

const operations = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8')
const withOptions = [...operations.matchAll(/`npm run ([\w:-]+) -- ([^`]+)`/g)].map(([, task, options]) => [task, options])

test.each(withOptions)('npm run %s -- %s in docs/operations.md is a complete command', async (task, options) => {
  const declaration = join(ROOT, TASKS[task].file.replace(/\.ts$/, '.command.ts'))
  expect(await answerOf(declaration, options.split(' '))).toEqual({ text: '', exitCode: undefined })
})
