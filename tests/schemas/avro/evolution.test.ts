import avsc from 'avsc'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compileDecoder } from '../../../schemas/avro/decoder.ts'
import { compileEncoder } from '../../../schemas/avro/encoder.ts'
import { parseJson } from '../../../schemas/avro/json.ts'
import { IncompatibleSchemaError } from '../../../schemas/avro/resolve.ts'
import { byteWriter, CodecError } from '../../../schemas/codec.ts'
import type { AvroSchema } from '../../../schemas/topic.ts'
import { hasDistinctBranches, schemas, valuesOf } from './arbitraries.ts'

type Json = { [property: string]: unknown }

const int64 = { type: 'long', logicalType: 'int64' }

function through(writer: AvroSchema, reader: AvroSchema, value: unknown): unknown {
  const out = byteWriter()
  compileEncoder(writer)(value, out)
  return compileDecoder(writer, reader)(out.buffer, 0, out.length)
}

function record(...fields: Json[]): Json {
  return { type: 'record', name: 'R', fields }
}

function letters(symbols: string[], rest: Json = {}): Json {
  return { type: 'enum', name: 'E', symbols, ...rest }
}

describe('promotions', () => {
  test.each<[AvroSchema, AvroSchema, unknown, unknown]>([
    ['int', 'long', -5, -5],
    ['int', int64, 2 ** 30, 1073741824n],
    ['int', 'float', 5, 5],
    ['int', 'double', 5, 5],
    ['long', int64, 2 ** 50, 2n ** 50n],
    [int64, 'long', 2n ** 50n, 2 ** 50],
    ['long', 'double', -(2 ** 50), -(2 ** 50)],
    [int64, 'double', -(2n ** 62n), -(2 ** 62)],
    [int64, 'float', 2n ** 62n, 2 ** 62],
    ['float', 'double', 0.5, 0.5],
    ['string', 'bytes', 'ä', Buffer.from('ä')],
    ['bytes', 'string', Buffer.from('ä'), 'ä'],
  ])('%j is read as %j', (writer, reader, value, expected) => {
    expect(through(writer, reader, value)).toEqual(expected)
  })

  test.each<[AvroSchema, AvroSchema]>([
    ['long', 'int'],
    ['double', 'float'],
    ['float', 'long'],
    ['boolean', 'int'],
    ['string', 'int'],
    [
      { type: 'array', items: 'string' },
      { type: 'array', items: 'int' },
    ],
    [
      { type: 'map', values: 'string' },
      { type: 'map', values: 'int' },
    ],
    [
      { type: 'map', values: 'int' },
      { type: 'array', items: 'int' },
    ],
  ])('%j cannot be read as %j', (writer, reader) => {
    expect(() => compileDecoder(writer, reader)).toThrow(IncompatibleSchemaError)
  })

  test('an int64 outside 53 bits is not readable as a long', () => {
    expect(() => through(int64, 'long', 2n ** 60n)).toThrow(CodecError)
  })

  test('bytes that are not UTF-8 are not readable as a string', () => {
    expect(() => through('bytes', 'string', Buffer.from([0xff]))).toThrow('not valid UTF-8')
  })
})

describe('records', () => {
  test('fields are matched by name in any order, unknown fields are skipped, and missing fields take fresh defaults', () => {
    const everything = [
      { name: 'n', type: 'null' },
      { name: 'bool', type: 'boolean' },
      { name: 'int', type: 'int' },
      { name: 'long', type: int64 },
      { name: 'float', type: 'float' },
      { name: 'double', type: 'double' },
      { name: 'bytes', type: 'bytes' },
      { name: 'string', type: 'string' },
      { name: 'fixed', type: { type: 'fixed', name: 'F', size: 3 } },
      { name: 'e', type: letters(['A', 'B']) },
      { name: 'array', type: { type: 'array', items: ['null', 'string'] } },
      { name: 'map', type: { type: 'map', values: { type: 'array', items: 'int' } } },
      { name: 'record', type: { type: 'record', name: 'Inner', fields: [{ name: 'inner', type: ['null', 'Inner'] }] } },
    ]
    const writer = record({ name: 'first', type: 'int' }, ...everything, { name: 'last', type: 'string' })
    const reader = record(
      { name: 'last', type: 'string' },
      { name: 'list', type: { type: 'array', items: 'int' }, default: [1] },
      { name: 'first', type: 'long' },
    )
    const value = {
      first: 7,
      n: null,
      bool: true,
      int: -1,
      long: 2n ** 62n,
      float: 1,
      double: 1,
      bytes: Buffer.from('abc'),
      string: 'text',
      fixed: Buffer.from('xyz'),
      e: 'B',
      array: [null, 'x'],
      map: { a: [1, 2], b: [] },
      record: { inner: { inner: null } },
      last: 'end',
    }
    const one = through(writer, reader, value) as { list: number[] }
    const two = through(writer, reader, value) as { list: number[] }
    expect(one).toEqual({ last: 'end', list: [1], first: 7 })
    expect(one.list).not.toBe(two.list)
  })

  test('blocks with a byte size are skipped as a whole', () => {
    const decode = compileDecoder(
      record({ name: 'gone', type: { type: 'array', items: 'long' } }, { name: 'kept', type: 'int' }),
      record({ name: 'kept', type: 'int' }),
    )
    expect(decode(Buffer.from([3, 4, 2, 4, 0, 10]), 0, 6)).toEqual({ kept: 5 })
    expect(() => decode(Buffer.from([3, 40, 2, 4, 0, 10]), 0, 6)).toThrow(CodecError)
  })

  test('fields and records match by alias', () => {
    const writer = { type: 'record', name: 'old.Name', fields: [{ name: 'old', type: 'int' }] }
    const reader = {
      type: 'record',
      name: 'new.Other',
      aliases: ['old.Name'],
      fields: [{ name: 'fresh', type: 'int', aliases: ['older', 'old'] }],
    }
    expect(through(writer, reader, { old: 3 })).toEqual({ fresh: 3 })
    expect(() => compileDecoder(writer, { ...reader, aliases: [] })).toThrow('record old.Name cannot be read as record new.Other')
  })

  test('a field of the same name takes precedence over an alias', () => {
    const writer = record({ name: 'a', type: 'int' }, { name: 'b', type: 'int' })
    const reader = record({ name: 'a', type: 'int', aliases: ['b'] })
    expect(through(writer, reader, { a: 1, b: 2 })).toEqual({ a: 1 })
  })

  test('the namespace may differ', () => {
    const writer = { ...record({ name: 'a', type: 'int' }), namespace: 'one' }
    const reader = { ...record({ name: 'a', type: 'int' }), namespace: 'two' }
    expect(through(writer, reader, { a: 1 })).toEqual({ a: 1 })
  })

  test('the error names a missing field that has no default', () => {
    const reader = record({ name: 'r', type: { type: 'record', name: 'S', fields: [{ name: 'x', type: 'int' }] } })
    const writer = record({ name: 'r', type: { type: 'record', name: 'S', fields: [] } })
    expect(() => compileDecoder(writer, reader)).toThrow('.r.x: the writer does not have the field, and the field has no default')
  })

  test('recursive records resolve', () => {
    const node = (type: AvroSchema, ...rest: Json[]) => ({
      type: 'record',
      name: 'Node',
      fields: [{ name: 'value', type }, { name: 'children', type: { type: 'array', items: 'Node' } }, ...rest],
    })
    const value = { value: 1, children: [{ value: 2, children: [] }] }
    const expected = { value: 1n, children: [{ value: 2n, children: [], extra: 'x' }], extra: 'x' }
    expect(through(node('int'), node(int64, { name: 'extra', type: 'string', default: 'x' }), value)).toEqual(expected)
  })

  test('a recursive record that cannot be read is refused wherever it occurs', () => {
    const node = (type: AvroSchema) => ({
      type: 'record',
      name: 'Node',
      fields: [
        { name: 'next', type: ['null', 'Node'] },
        { name: 'v', type },
      ],
    })
    expect(() => compileDecoder(node('string'), node('int'))).toThrow('.v: string cannot be read as int')
  })
})

describe('enums and fixed', () => {
  test('symbols are matched by name', () => {
    expect(through(letters(['A', 'B']), letters(['B', 'C', 'A']), 'B')).toBe('B')
  })

  test('an unknown symbol takes the default, or causes an error when it occurs', () => {
    expect(through(letters(['A', 'Z']), letters(['A', 'B'], { default: 'B' }), 'Z')).toBe('B')
    expect(through(letters(['A', 'Z']), letters(['A']), 'A')).toBe('A')
    expect(() => through(letters(['A', 'Z']), letters(['A']), 'Z')).toThrow(
      'E: the enum of the reader has neither the symbol Z nor a default',
    )
  })

  test('different names or sizes do not match', () => {
    expect(() => compileDecoder(letters(['A']), { ...letters(['A']), name: 'Other' })).toThrow(IncompatibleSchemaError)
    const fixed = (size: number) => ({ type: 'fixed', name: 'F', size })
    expect(() => compileDecoder(fixed(2), fixed(3))).toThrow('F was written with 2 bytes, not 3')
  })
})

describe('unions', () => {
  test('a plain value can be read as a union, and a value of a union can be read as the type of its branch', () => {
    expect(through('string', ['null', 'string'], 'x')).toBe('x')
    expect(through(['null', 'string'], 'string', 'x')).toBe('x')
    expect(() => through(['null', 'string'], 'string', null)).toThrow('null cannot be read as string')
  })

  test('branches may be added, moved and promoted', () => {
    expect(through(['null', 'int'], ['string', 'long', 'null'], 3)).toBe(3)
    expect(through(['null', 'int'], ['string', 'long', 'null'], null)).toBeNull()
    expect(through(['null', 'long'], ['null', int64], 3)).toBe(3n)
  })

  test('a branch of the same type takes precedence over a promotion', () => {
    expect(through('int', ['double', 'int'], 3)).toEqual({ int: 3 })
    expect(through('int', ['double', 'float'], 3)).toEqual({ double: 3 })
  })

  test('a branch that the reader schema lacks causes an error when it occurs', () => {
    expect(through(['int', 'string'], ['null', 'int'], 3)).toBe(3)
    expect(() => through(['int', 'string'], ['null', 'int'], 'x')).toThrow('string matches no branch of the union null, int')
    expect(() => compileDecoder(['boolean', 'string'], ['null', 'int'])).toThrow(IncompatibleSchemaError)
  })

  test('the error for a branch that the reader schema cannot read names the path once', () => {
    const record = (type: AvroSchema) => ({ type: 'record', name: 'R', fields: [{ name: 'x', type }] })
    const wrong = { type: 'record', name: 'I', fields: [{ name: 'z', type: 'int' }] }
    const right = { ...wrong, fields: [{ name: 'y', type: 'int' }] }
    const texts = { type: 'array', items: 'string' }
    expect(() => through(record(['null', texts]), record(texts), { x: null })).toThrow(/^R\.x: null cannot be read as array$/)
    expect(() => through(record(['null', wrong]), record(['null', right]), { x: { z: 1 } })).toThrow(
      /^R\.x\.y: the writer does not have the field, and the field has no default$/,
    )
  })

  test.each<[AvroSchema, AvroSchema, unknown, unknown]>([
    [int64, ['double', 'long'], 2n ** 52n + 1n, { long: 2 ** 52 + 1 }],
    ['long', ['double', int64], 2 ** 52 + 1, 2n ** 52n + 1n],
  ])('%j is read as the long of %j instead of being promoted to a double', (writer, reader, value, expected) => {
    expect(through(writer, reader, value)).toEqual(expected)
  })

  test('records in unions are matched by name', () => {
    const a = { type: 'record', name: 'A', fields: [{ name: 'x', type: 'int' }] }
    const b = { type: 'record', name: 'B', fields: [{ name: 'x', type: 'int' }] }
    expect(through([a, b], [b, a], { B: { x: 1 } })).toEqual({ B: { x: 1 } })
  })
})

test('decoding fails only for values that contain an incompatible record, even if the record types refer to each other', () => {
  const schema = (x: AvroSchema) => [
    {
      type: 'record',
      name: 'A',
      fields: [
        { name: 'b', type: ['null', { type: 'record', name: 'B', fields: [{ name: 'a', type: ['null', 'A'] }] }] },
        { name: 'x', type: x },
      ],
    },
    'B',
  ]
  const read = (value: unknown) => through(schema('string'), schema('int'), value)
  expect(read({ B: { a: null } })).toEqual({ B: { a: null } })
  expect(() => read({ B: { a: { b: null, x: 'text' } } })).toThrow('.x: string cannot be read as int')
  expect(() => read({ A: { b: null, x: 'text' } })).toThrow('.x: string cannot be read as int')
})

test('a plain long, as written by a Python producer, can be read as a BigInt', () => {
  const writer = record({ name: 'tweet_id', type: 'long' }, { name: 'at', type: 'long' })
  const reader = record({ name: 'tweet_id', type: int64 }, { name: 'at', type: { type: 'long', logicalType: 'timestamp-millis' } })
  const bytes = Buffer.from([0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 2])
  expect(compileDecoder(writer, reader)(bytes, 0, bytes.length)).toEqual({ tweet_id: 2n ** 63n - 1n, at: 1 })
})

/** Returns a reader schema that the writer schema could have evolved into. */
function evolved(schema: AvroSchema, choice: () => number): AvroSchema {
  if (typeof schema === 'string') return promoted(schema, choice)
  if (Array.isArray(schema))
    return choice() === 0 ? [...schema].reverse() : schema.map((branch) => (choice() === 0 ? branch : evolvedBranch(branch, choice)))
  const json = schema as Json
  if (json.type === 'array') return { ...json, items: evolved(json.items as AvroSchema, choice) }
  if (json.type === 'map') return { ...json, values: evolved(json.values as AvroSchema, choice) }
  if (json.type === 'enum') return choice() === 0 ? { ...json, symbols: [...(json.symbols as string[])].reverse() } : json
  if (json.type !== 'record') return json
  const fields = (json.fields as Json[])
    .filter(() => choice() !== 0)
    .map((field) => ({ ...field, type: evolved(field.type as AvroSchema, choice) }))
  if (choice() === 0) fields.reverse()
  if (choice() === 0) fields.push({ name: 'added', type: ['null', 'string'], default: null } as never)
  return { ...json, fields }
}

/** Evolves a branch of a union but never promotes the branch itself, because this could make two branches equal. */
function evolvedBranch(branch: AvroSchema, choice: () => number): AvroSchema {
  return typeof branch === 'string' ? branch : evolved(branch, choice)
}

function promoted(type: string, choice: () => number): string {
  const wider: { [type: string]: string[] } = { int: ['long', 'float', 'double'], long: ['double'], float: ['double'], string: ['bytes'] }
  const options = [type, ...(wider[type] ?? [])]
  return options[choice() % options.length]
}

/**
 * Writer schemas, each with a value and a reader schema. The unions have distinct branches, because avsc takes the
 * first of several matching branches, but this implementation prefers the branch with the same type, as Java does.
 */
const evolutions = schemas.filter(hasDistinctBranches).chain((writer) =>
  fc.record({
    writer: fc.constant(writer),
    value: valuesOf(writer),
    reader: fc.infiniteStream(fc.nat({ max: 3 })).map((stream) => evolved(writer, () => stream.next().value as number)),
  }),
)

test('a value that is read with another schema is the same as in avsc', () => {
  let resolved = 0
  fc.assert(
    fc.property(evolutions, ({ writer, reader, value }) => {
      const writerType = avsc.Type.forSchema(writer as avsc.Schema)
      const readerType = avsc.Type.forSchema(reader as avsc.Schema)
      const bytes = writerType.toBuffer(value)
      const expected = readerType.fromBuffer(bytes, readerType.createResolver(writerType))
      expect(compileDecoder(writer, reader)(bytes, 0, bytes.length)).toEqual(expected)
      resolved++
    }),
    { numRuns: 600 },
  )
  expect(resolved).toBeGreaterThan(500)
})

test('a default beyond 2^53 is exact for an int64, and is refused for a plain long, because a JavaScript number would round it', () => {
  const digits = '9223372036854775807'
  const reader = (attributes: string) =>
    parseJson(`{"type":"record","name":"R","fields":[{"name":"n","type":{"type":"long"${attributes}},"default":${digits}}]}`) as AvroSchema
  const writer = { type: 'record', name: 'R', fields: [] }
  const decode = compileDecoder<{ n: bigint }>(writer, reader(',"logicalType":"int64"'))
  expect(decode(Buffer.alloc(0), 0, 0).n).toBe(BigInt(digits))
  expect(() => compileDecoder(writer, reader(''))).toThrow('declare the long with logicalType int64')
})

test('a default that is too large for a double is read as infinity', () => {
  const field = (name: string, digits: string) => `{"name":"${name}","type":"double","default":${digits}}`
  const reader = parseJson(`{"type":"record","name":"R","fields":[${field('f0', '1e999')},${field('f1', '-1e999')}]}`)
  const decode = compileDecoder<object>({ type: 'record', name: 'R', fields: [] }, reader as AvroSchema)
  expect(decode(Buffer.alloc(0), 0, 0)).toEqual({ f0: Number.POSITIVE_INFINITY, f1: Number.NEGATIVE_INFINITY })
})

test('the default of a double may be NaN or infinite, written as a string, because JSON numbers cannot express these values', () => {
  const reader = {
    type: 'record',
    name: 'R',
    fields: ['NaN', 'Infinity', '-Infinity'].map((n, i) => ({ name: `f${i}`, type: 'double', default: n })),
  }
  const decode = compileDecoder<object>({ type: 'record', name: 'R', fields: [] }, reader)
  expect(decode(Buffer.alloc(0), 0, 0)).toEqual({ f0: Number.NaN, f1: Number.POSITIVE_INFINITY, f2: Number.NEGATIVE_INFINITY })
})
