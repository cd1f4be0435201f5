import { expect, test } from 'vitest'
import { z } from 'zod'
import { readmes } from '../../scripts/settings-table.ts'
import type { Variables } from '../../settings/fragment.ts'
import { withSettingsTable } from '../../settings/table.ts'
import { documented } from '../../settings/variables.ts'

const PAGE = 'before\n<!-- settings: made by `npm run schemas` -->\nold\n<!-- end of settings -->\nafter'

test('README.md lists the current settings; otherwise run npm run schemas', () => {
  const { present, renewed } = readmes()
  expect(present).toBe(renewed)
  for (const name of ['API_PORT', 'WORKERS', 'LINKS_SECRET', 'VISITOR_SECRET']) expect(present).toContain(`| \`${name}\` |`)
})

test('every variable has one row with its default', () => {
  const shared = documented(z.string().prefault('here'), 'a place')
  const groups: Variables[] = [
    { PLACE: shared, OTHER: documented(z.string().optional(), 'something') },
    { PLACE: shared },
    { LAST: documented(z.string().optional(), 'end', 'made') },
  ]
  expect(withSettingsTable(PAGE, groups).split('\n').slice(4, -2)).toEqual([
    '| `PLACE` | here | a place |',
    '| `OTHER` | – | something |',
    '| `LAST` | made | end |',
  ])
})

test('a variable without a description is refused, and so is a page without a place for the table', () => {
  expect(() => withSettingsTable(PAGE, [{ BARE: z.string() }])).toThrow('BARE has no description')
  expect(() => withSettingsTable('a page', [])).toThrow('the page has no <!-- settings')
})
