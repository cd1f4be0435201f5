import { Type } from 'avsc'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { incompatibilities } from '../../../../deploy/local/registry/compatibility.ts'
import { parseSchemaText } from '../../../../schemas/avro/parse.ts'

type Json = unknown

function found(reader: Json, writer: Json): string[] {
  return incompatibilities(parseSchemaText(JSON.stringify(reader)), parseSchemaText(JSON.stringify(writer))).map(
    ({ type, path }) => `${type} ${path}`,
  )
}

const record = (...fields: Json[]) => ({ type: 'record', name: 'R', fields })
const enumeration = (symbols: string[], more: object = {}) => ({ type: 'enum', name: 'E', symbols, ...more })
const a = { name: 'a', type: 'int' }

const READABLE: [what: string, reader: Json, writer: Json][] = [
  ['the same schema', record(a), record(a)],
  ['a new field with a default', record(a, { name: 'b', type: 'string', default: '' }), record(a)],
  ['a removed field', record(), record(a)],
  ['fields in another order', record({ name: 'b', type: 'int' }, a), record(a, { name: 'b', type: 'int' })],
  ['a field renamed with an alias', record({ name: 'b', type: 'int', aliases: ['a'] }), record(a)],
  ['a record renamed with an alias', { ...record(a), name: 'S', aliases: ['R'] }, record(a)],
  ['a record in another namespace', { ...record(a), namespace: 'x' }, { ...record(a), namespace: 'y' }],
  ['int read as long', 'long', 'int'],
  ['int read as float', 'float', 'int'],
  ['int read as double', 'double', 'int'],
  ['long read as float', 'float', 'long'],
  ['long read as double', 'double', 'long'],
  ['float read as double', 'double', 'float'],
  ['string read as bytes', 'bytes', 'string'],
  ['bytes read as string', 'string', 'bytes'],
  ['a type made optional', ['null', 'int'], 'int'],
  ['a union made wider', ['null', 'int', 'string'], ['int', 'null']],
  ['a union of one type that is read as this type', 'int', ['int']],
  ['promotion inside a union', ['null', 'long'], 'int'],
  ['promotion of every branch', 'double', ['int', 'float']],
  ['an added enum symbol', enumeration(['A', 'B']), enumeration(['A'])],
  ['a removed symbol where the reader has a default', enumeration(['A'], { default: 'A' }), enumeration(['A', 'B'])],
  ['promoted items', { type: 'array', items: 'long' }, { type: 'array', items: 'int' }],
  ['promoted values', { type: 'map', values: 'double' }, { type: 'map', values: 'float' }],
  ['a recursive record', { ...record({ name: 'n', type: ['null', 'R'] }) }, { ...record({ name: 'n', type: ['null', 'R'] }) }],
  ['a logical type added', { type: 'long', logicalType: 'timestamp-millis' }, 'long'],
]

test.each(READABLE)('the check accepts %s', (_what, reader, writer) => {
  expect(found(reader, writer)).toEqual([])
})

test.each([
  ['a new field without default', record(a, { name: 'b', type: 'int' }), record(a), ['READER_FIELD_MISSING_DEFAULT_VALUE /fields/1']],
  ['a field renamed without alias', record({ name: 'b', type: 'int' }), record(a), ['READER_FIELD_MISSING_DEFAULT_VALUE /fields/0']],
  ['a field with a different type', record({ name: 'a', type: 'string' }), record(a), ['TYPE_MISMATCH /fields/0/type']],
  ['a record with a different name', { ...record(a), name: 'S' }, record(a), ['NAME_MISMATCH /name']],
  ['long read as int', 'int', 'long', ['TYPE_MISMATCH /']],
  ['double read as float', 'float', 'double', ['TYPE_MISMATCH /']],
  ['string read as int', 'int', 'string', ['TYPE_MISMATCH /']],
  ['an optional type made required', 'int', ['null', 'int'], ['TYPE_MISMATCH /0']],
  ['a branch taken from a union', ['null', 'int'], ['null', 'int', 'string'], ['MISSING_UNION_BRANCH /2']],
  ['a removed symbol', enumeration(['A']), enumeration(['A', 'B', 'C']), ['MISSING_ENUM_SYMBOLS /symbols']],
  ['an enum with a different name', { ...enumeration(['A']), name: 'F' }, enumeration(['A']), ['NAME_MISMATCH /name']],
  ['a changed fixed size', { type: 'fixed', name: 'F', size: 8 }, { type: 'fixed', name: 'F', size: 16 }, ['FIXED_SIZE_MISMATCH /size']],
  ['array items of another type', { type: 'array', items: 'int' }, { type: 'array', items: 'string' }, ['TYPE_MISMATCH /items']],
  ['map values of another type', { type: 'map', values: 'int' }, { type: 'map', values: 'null' }, ['TYPE_MISMATCH /values']],
  ['an array read as a map', { type: 'map', values: 'int' }, { type: 'array', items: 'int' }, ['TYPE_MISMATCH /']],
  ['a record read as an enum', enumeration(['A']), record(a), ['TYPE_MISMATCH /']],
  [
    'two incompatibilities at once',
    record({ name: 'a', type: 'string' }, { name: 'b', type: 'int' }),
    record(a),
    ['TYPE_MISMATCH /fields/0/type', 'READER_FIELD_MISSING_DEFAULT_VALUE /fields/1'],
  ],
  [
    'an incompatibility inside a union',
    ['null', record(a, { name: 'b', type: 'int' })],
    ['null', record(a)],
    ['MISSING_UNION_BRANCH /1', 'READER_FIELD_MISSING_DEFAULT_VALUE /1/1/fields/1'],
  ],
  [
    'an incompatibility in a recursive record',
    record({ name: 'n', type: ['null', 'R'] }, { name: 'b', type: 'int' }),
    record({ name: 'n', type: ['null', 'R'] }),
    ['READER_FIELD_MISSING_DEFAULT_VALUE /fields/1'],
  ],
])('the check refuses %s, and gives the reason', (_what, reader, writer, expected) => {
  expect(found(reader, writer)).toEqual(expected)
})

const primitive = fc.constantFrom('null', 'boolean', 'int', 'long', 'float', 'double', 'bytes', 'string')
const flat = fc.oneof(
  primitive,
  primitive.map((items) => ({ type: 'array', items })),
  primitive.map((values) => ({ type: 'map', values })),
  fc.uniqueArray(primitive, { minLength: 1, maxLength: 4 }),
  fc.uniqueArray(fc.constantFrom('A', 'B', 'C'), { minLength: 1 }).map((symbols) => enumeration(symbols)),
)
const recordOf = fc
  .uniqueArray(fc.tuple(fc.constantFrom('a', 'b', 'c'), flat), { selector: ([name]) => name, maxLength: 3 })
  .map((fields) => record(...fields.map(([name, type], index) => ({ name, type: named(type, index) }))))

/** Gives an enum a name with the given index, because all enums in one record need different names. */
function named(type: Json, index: number): Json {
  return typeof type === 'object' && type !== null && 'symbols' in type ? { ...type, name: `E${index}` } : type
}

test('a random pair of schemas is readable if and only if avsc can resolve it', () => {
  fc.assert(
    fc.property(fc.oneof(flat, recordOf), fc.oneof(flat, recordOf), (reader, writer) => {
      const readable = found(reader, writer).length === 0
      const avsc = (schema: Json) => Type.forSchema(structuredClone(schema) as Parameters<typeof Type.forSchema>[0], { wrapUnions: true })
      let resolvable = true
      try {
        avsc(reader).createResolver(avsc(writer))
      } catch {
        resolvable = false
      }
      expect(readable).toBe(resolvable)
    }),
    { numRuns: 2_000 },
  )
})

test('at most 1,000 reasons are returned, even if each record has two fields of the next record type', () => {
  function nested(leaf: string): Json {
    let inner: Json = record({ name: 'leaf', type: leaf })
    for (let i = 0; i < 40; i++) {
      const name = i === 0 ? 'R' : `R${i - 1}`
      inner = { type: 'record', name: `R${i}`, fields: [a, { name: 'b', type: inner }, { name: 'c', type: name }] }
    }
    return inner
  }
  expect(found(nested('int'), nested('int'))).toEqual([])
  const reasons = found(nested('int'), nested('string'))
  expect(reasons).toHaveLength(1_000)
  expect(new Set(reasons.map((reason) => reason.split(' ')[0]))).toEqual(new Set(['TYPE_MISMATCH']))
})

test('a pair of schemas is compared again if its first result assumed that an enclosing pair was readable, but that pair was not', () => {
  // The union's first branch cannot read the writer's record, but its second branch can. The record C inside the first
  // branch cannot read the writer's C either. That result matters only for the second field.
  const writerC = { type: 'record', name: 'w.C', fields: [{ name: 'of', type: ['null', 'w.A'] }] }
  const writerA = { type: 'record', name: 'w.A', fields: [{ name: 'c', type: writerC }] }
  const readerC = { type: 'record', name: 'x.C', fields: [{ name: 'of', type: ['null', 'x.A'] }] }
  const strict = { type: 'record', name: 'x.A', fields: [{ name: 'c', type: readerC }, a] }
  const lenient = { type: 'record', name: 'y.A', fields: [] }
  const reader = record({ name: 'first', type: [strict, lenient] }, { name: 'second', type: 'x.C' })
  const writer = record({ name: 'first', type: writerA }, { name: 'second', type: 'w.C' })
  expect(found(reader, writer)).toContain('MISSING_UNION_BRANCH /fields/1/type/fields/0/type/1')
})
