import { expect, test } from 'vitest'
import type { FieldType } from '../../../../schemas/fraud/rules/field.ts'
import { FIELDS } from '../../../../schemas/fraud/rules/fields.ts'
import { loadSchema } from '../../../../schemas/load.ts'

interface RecordSchema {
  readonly fields: readonly { readonly name: string; readonly type: unknown }[]
}

/** Returns the Avro type of the field at a path in `txn.scored`. If it is a union with null, returns the other type. */
function typeAt(path: string): unknown {
  let type: unknown = loadSchema('fraud/TxnScored')
  for (const name of path.split('.')) {
    const field = (type as RecordSchema).fields?.find((one) => one.name === name)
    if (field === undefined) return undefined
    type = withoutNull(field.type)
  }
  return type
}

function withoutNull(type: unknown): unknown {
  if (!Array.isArray(type)) return type
  const [only, ...others] = type.filter((branch) => branch !== 'null')
  return others.length === 0 ? only : undefined
}

/** Returns the kind of value that rules get from a field of an Avro type. */
function kindOf(type: unknown): string {
  const name = typeof type === 'string' ? type : (type as { type?: string } | undefined)?.type
  if (name === 'long' || name === 'int' || name === 'double') return 'number'
  if (name === 'enum') return 'string'
  return String(name)
}

const KINDS: Record<FieldType, string> = {
  number: 'number',
  boolean: 'boolean',
  string: 'string',
  country: 'string',
  currency: 'string',
  ip: 'string',
  tier: 'string',
}

const paths = FIELDS.flatMap(({ name, type, source }) => (typeof source === 'string' ? [{ name, type, source }] : []))

test('more than 80 fields are read from a path', () => {
  expect(paths.length).toBeGreaterThan(80)
})

test.each(paths)('$name is read from $source, and this path has the type $type in scored transactions', ({ type, source }) => {
  expect(kindOf(typeAt(source))).toBe(KINDS[type])
})

test('a path that does not exist in the schema has no type', () => {
  expect([kindOf(typeAt('features.no_such_feature')), kindOf(typeAt('request.payer.nobody'))]).toEqual(['undefined', 'undefined'])
})
