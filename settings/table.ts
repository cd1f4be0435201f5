import type { z } from 'zod'
import type { Variables } from './fragment.ts'

/** These comments mark the beginning and the end of a settings table in a Markdown page. */
const BEGIN = '<!-- settings: made by `npm run schemas` -->'
const END = '<!-- end of settings -->'

/**
 * Returns a table with one row per variable, in the given order. A variable that several processes read gets one row.
 */
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

/**
 * Replaces the settings table in a page.
 * @throws Error if the page has no markers for the table, or if a variable has no description
 */
export function withSettingsTable(page: string, groups: readonly Variables[]): string {
  const [before, rest] = page.split(`${BEGIN}\n`)
  const after = rest?.split(END)[1]
  if (after === undefined) throw new Error(`the page has no ${BEGIN} that is followed by ${END}`)
  return `${before}${BEGIN}\n${settingsTable(groups)}\n${END}${after}`
}
