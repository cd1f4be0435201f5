import type { Field, FieldValue } from './field.ts'
import { FIELDS, type FieldName, fieldOf } from './fields.ts'

/** The values of one transaction, indexed by slot; `undefined` for a missing value. */
export type Facts = readonly (FieldValue | undefined)[]

/** Values keyed by field name, for tests. */
export type FactsByName = Readonly<Partial<Record<FieldName, FieldValue>>>

/** Values by list name, for `inList`. */
export type Lists = ReadonlyMap<string, ReadonlySet<string>>

export const NO_LISTS: Lists = new Map()

/**
 * Maximum length of strings; longer strings are cut. With this limit, 500 rules with
 * `contains(lower(device.user_agent), …)` stay within their time limit, however long the caller's string is.
 */
export const MAX_STRING_CHARACTERS = 1_024

/**
 * Returns the value of a field as rules read it; undefined if it is missing. A value of the wrong type and a number
 * that is not finite count as missing, so a compiled condition only receives values of the field's type.
 */
export function factOf(field: Field, value: unknown): FieldValue | undefined {
  switch (field.type) {
    case 'number':
      return typeof value === 'number' && Number.isFinite(value) ? value : undefined
    case 'boolean':
      return typeof value === 'boolean' ? value : undefined
    default:
      return typeof value === 'string' ? cut(value) : undefined
  }
}

function cut(value: string): string {
  if (value.length <= MAX_STRING_CHARACTERS) return value
  const kept = value.slice(0, MAX_STRING_CHARACTERS)
  return kept.isWellFormed() ? kept : kept.slice(0, -1)
}

/** Returns a row of facts. Names without a field are ignored. */
export function factsOf(values: FactsByName): Facts {
  const row = new Array<FieldValue | undefined>(FIELDS.length).fill(undefined)
  for (const name of Object.keys(values)) {
    const field = fieldOf(name)
    if (field !== undefined) row[field.slot] = factOf(field, values[name as FieldName])
  }
  return row
}
