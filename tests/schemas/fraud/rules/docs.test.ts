import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { FIELDS } from '../../../../schemas/fraud/rules/fields.ts'
import { FUNCTIONS } from '../../../../schemas/fraud/rules/functions.ts'
import { SEEDED_RULES } from '../../../../schemas/fraud/rules/seeded.ts'

const PAGE = readFileSync(join(import.meta.dirname, '../../../../docs/services/fraud.md'), 'utf8')

/** Returns the rows of the table in a section. */
function rowsOf(heading: string): string[] {
  const [, section] = PAGE.split(`\n### ${heading}\n`)
  return [...section.slice(0, section.search(/\n##/)).matchAll(/^\| `.*$/gm)].map(([row]) => row)
}

test('the page lists all fields with their types and meanings', () => {
  const rows = FIELDS.map(
    ({ name, type, optional, description }) => `| \`${name}\` | ${type}${optional ? '' : ', always present'} | ${description} |`,
  )
  expect(rowsOf('Fields')).toEqual(rows)
})

test('the page lists all functions', () => {
  expect(rowsOf('Functions').map((row) => /\w+/.exec(row)?.[0])).toEqual([...FUNCTIONS.keys()])
})

test('the page lists the seeded rules in order', () => {
  expect(rowsOf('Seeded rules')).toEqual(SEEDED_RULES.map(({ rule_id, action, name }) => `| \`${rule_id}\` | ${action} | ${name} |`))
})
