import { expect, test } from 'vitest'
import { parseSchema } from '../../../schemas/avro/parse.ts'
import { minimumBytes, SchemaError } from '../../../schemas/avro/types.ts'
import type { AvroSchema } from '../../../schemas/topic.ts'

function record(...fields: object[]): AvroSchema {
  return { type: 'record', name: 'R', fields }
}

test.each<[string, AvroSchema, string]>([
  ['an unknown type', 'integer', 'the unknown type "integer"'],
  ['a number', 5 as unknown as AvroSchema, '5 is not a schema'],
  ['a record without a name', { type: 'record', fields: [] }, 'a record without a name'],
  ['a record without fields', { type: 'record', name: 'R' }, 'record "R" without "fields"'],
  ['a bad name', { type: 'fixed', name: 'a-b', size: 1 }, 'a fixed: "a-b" is not a legal name'],
  ['a bad field name', record({ name: 'a b', type: 'int' }), 'a field of record "R": "a b" is not a legal name'],
  ['a field twice', record({ name: 'a', type: 'int' }, { name: 'a', type: 'int' }), 'record "R" has two fields named "a"'],
  ['a field with the name __proto__', record({ name: '__proto__', type: 'int' }), 'cannot be a property'],
  ['an empty union', [], 'a union without branches'],
  ['a branch twice', ['int', 'int'], 'a union that contains "int" twice'],
  ['a long and an int64', ['long', { type: 'long', logicalType: 'int64' }], 'a union that contains "long" twice'],
  ['a union in a union', ['null', { type: ['int', 'string'] as never }], 'the schema is a union that directly contains another union'],
  ['an enum without symbols', { type: 'enum', name: 'E', symbols: [] }, 'enum "E" has no symbols'],
  ['a symbol twice', { type: 'enum', name: 'E', symbols: ['A', 'A'] }, 'enum "E" contains a symbol twice'],
  ['a bad symbol', { type: 'enum', name: 'E', symbols: ['1'] }, 'a symbol of enum "E": "1" is not a legal name'],
  [
    'an enum default that is not a symbol',
    { type: 'enum', name: 'E', symbols: ['A'], default: 'B' },
    'default "B" of enum "E" is not one of its symbols',
  ],
  ['a fixed without size', { type: 'fixed', name: 'F' }, 'size of fixed "F" is not a whole number of bytes'],
  [
    'a type twice',
    record({ name: 'a', type: { type: 'fixed', name: 'F', size: 1 } }, { name: 'b', type: { type: 'fixed', name: 'F', size: 1 } }),
    '"F" is defined twice',
  ],
  [
    'a default of another type',
    record({ name: 'a', type: 'int', default: 'x' }),
    'field "R.a": default "x" does not fit its type: expected an int',
  ],
  ['a default that matches no branch', record({ name: 'a', type: ['null', 'string'], default: 1 }), 'matches no branch'],
  ['a default beyond 2^53-1', record({ name: 'a', type: 'long', default: 2 ** 60 }), 'are exact only up to 2^53-1'],
])('%s is refused', (_, schema, message) => {
  expect(() => parseSchema(schema)).toThrow(SchemaError)
  expect(() => parseSchema(schema)).toThrow(message)
})

test('names and aliases are resolved in their namespace', () => {
  const schema = {
    type: 'record',
    name: 'Outer',
    namespace: 'a.b',
    aliases: ['Former', 'x.Far'],
    fields: [
      { name: 'one', type: { type: 'fixed', name: 'Inner', size: 1 } },
      { name: 'two', type: 'Inner' },
      { name: 'three', type: 'a.b.Inner' },
      { name: 'four', type: { type: 'enum', name: 'c.E', symbols: ['A'] } },
    ],
  }
  const type = parseSchema(schema)
  expect(type).toMatchObject({ kind: 'record', name: 'a.b.Outer', aliases: ['a.b.Former', 'x.Far'] })
  if (type.kind !== 'record') throw new Error('no record')
  expect(type.fields[1].type).toBe(type.fields[0].type)
  expect(type.fields[2].type).toBe(type.fields[0].type)
  expect(type.fields[3].type).toMatchObject({ name: 'c.E' })
})

test('a union is wrapped only if JavaScript cannot distinguish its branches', () => {
  const wrapped = (schema: AvroSchema) => (parseSchema(schema) as { wrapped: boolean }).wrapped
  expect(wrapped(['null', 'int', 'string', 'bytes', 'boolean', { type: 'array', items: 'int' }, { type: 'map', values: 'int' }])).toBe(
    false,
  )
  expect(wrapped(['int', { type: 'long', logicalType: 'int64' }])).toBe(false)
  expect(wrapped(['int', 'double'])).toBe(true)
  expect(wrapped(['string', { type: 'enum', name: 'E', symbols: ['A'] }])).toBe(true)
})

test('unknown logical types are ignored', () => {
  expect(parseSchema({ type: 'long', logicalType: 'timestamp-millis' })).toMatchObject({ kind: 'long' })
  expect(parseSchema({ type: 'string', logicalType: 'mystery' })).toMatchObject({ kind: 'string' })
})

test('a default may match any branch of a union, and a recursive record may have defaults', () => {
  const branch = record({ name: 'a', type: ['null', 'string'], default: 'text' })
  const recursive = record(
    { name: 'next', type: ['null', 'R'], default: null },
    { name: 'list', type: { type: 'array', items: 'R' }, default: [{ next: null, list: [] }] },
  )
  for (const schema of [branch, recursive]) expect(parseSchema(schema)).toMatchObject({ kind: 'record' })
})

/** Returns JSON objects nested far deeper than a recursive function could handle. */
function deepJson(): unknown {
  let json: unknown = {}
  for (let i = 0; i < 100_000; i++) json = { n: json }
  return json
}

/** Nests records with two fields of the same type, so that each level doubles the paths to the innermost record. */
function doubling(levels: number, options: { default?: unknown }): AvroSchema {
  let inner: unknown = { type: 'record', name: 'R0', fields: [{ name: 'a', type: 'int', default: 0 }] }
  for (let i = 1; i <= levels; i++) {
    inner = {
      type: 'record',
      name: `R${i}`,
      fields: [
        { name: 'a', type: inner, ...options },
        { name: 'b', type: `R${i - 1}`, ...options },
      ],
    }
  }
  return inner as AvroSchema
}

test.each([
  ['a default', record({ name: 'x', type: 'int', default: deepJson() }), /JSON of the schema is nested deeper than 1000 levels/],
  ['an unknown attribute', { ...(record() as object), mystery: deepJson() }, /JSON of the schema is nested deeper than 1000 levels/],
  ['a name', record({ name: deepJson(), type: 'int' }), /JSON of the schema is nested deeper than 1000 levels/],
  ['a default that contains its own record', record({ name: 'next', type: 'R', default: {} }), /default is nested deeper than 200/],
  ['a default that doubles with each record', doubling(60, { default: {} }), /defaults contain more than 100000 values/],
])('%s that is too deep or too large causes a SchemaError and no stack overflow', (_, schema, reason) => {
  expect(() => parseSchema(schema as AvroSchema)).toThrow(SchemaError)
  expect(() => parseSchema(schema as AvroSchema)).toThrow(reason)
})

test('if a default is nested more than 200 levels deep, the parser does not try all combinations of union branches', () => {
  const fields = [{ name: 'next', type: ['A', 'B'], default: {} }]
  const b = { type: 'record', name: 'B', fields }
  const a = { type: 'record', name: 'A', fields: [{ name: 'b', type: ['null', b], default: null }, ...fields] }
  expect(() => parseSchema(a as AvroSchema)).toThrow(/default is nested deeper than 200/)
})

test('the minimum size of a type is computed only once, even if many paths lead to the type', () => {
  expect(minimumBytes(parseSchema(doubling(60, {})))).toBe(2 ** 60)
})
