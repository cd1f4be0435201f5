import type { z } from 'zod'
import type { Variables } from './fragment.ts'

/** Where a table of settings begins and ends in a Markdown page. */
const BEGIN = '<!-- settings: made by `npm run schemas` -->'
const END = '<!-- end of settings -->'

/** Rows for every variable, in the order given. A variable that several processes read has one row. */
function settingsTable(groups: readonly Variables[]): string {
  const rows = new Map<string, string>()
  for (const [name, schema] of groups.flatMap((variables) => Object.entries(variables))) {
    if (!rows.has(name)) rows.set(name, rowOf(name, schema))
  }
  return ['| variable | default | what |', '|---|---|---|', ...rows.values()].join('\n')
}

function rowOf(name: string, schema: z.ZodType): string {
  const { description, shownDefault } = (schema.meta() ?? {}) as { description?: string; shownDefault?: string }
  if (description === undefined) throw new Error(`${name} has no description: wrap its schema in documented()`)
  return `| \`${name}\` | ${shownDefault ?? defaultOf(schema)} | ${description} |`
}

function defaultOf(schema: z.ZodType): string {
  const { type, defaultValue } = schema.def as { type: string; defaultValue?: unknown }
  return type === 'prefault' && defaultValue !== '' ? String(defaultValue) : '–'
}

/** The page with its table of settings renewed. @throws Error when the page has no place for it */
export function withSettingsTable(page: string, groups: readonly Variables[]): string {
  const [before, rest] = page.split(`${BEGIN}\n`)
  const after = rest?.split(END)[1]
  if (after === undefined) throw new Error(`the page has no ${BEGIN}`)
  return `${before}${BEGIN}\n${settingsTable(groups)}\n${END}${after}`
}
