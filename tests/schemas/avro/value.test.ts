import { expect, test } from 'vitest'
import { avroValue } from '../../../schemas/avro/value.ts'
import { byteWriter, CodecError, UnknownSchemaError } from '../../../schemas/codec.ts'
import type { AvroSchema, SchemaLookup } from '../../../schemas/topic.ts'

interface Point {
  x: number
  y: number
}

const schema: AvroSchema = {
  type: 'record',
  name: 'Point',
  fields: [
    { name: 'x', type: 'int' },
    { name: 'y', type: 'int', default: 7 },
  ],
}
const older: AvroSchema = { type: 'record', name: 'Point', fields: [{ name: 'x', type: 'int' }] }
const foreign: AvroSchema = { type: 'record', name: 'Point', fields: [{ name: 'x', type: 'string' }] }

function lookup(entries: Record<number, AvroSchema> = {}): SchemaLookup {
  return { get: (id) => entries[id] }
}

function encoded(schemaId: number, value: Point): Buffer {
  const out = byteWriter()
  avroValue<Point>(schema).open(schemaId, lookup()).encode(value, out)
  return out.buffer.subarray(0, out.length)
}

test('the wire format is a zero byte, the schema id in four bytes, and the Avro body', () => {
  expect([...encoded(258, { x: 1, y: -1 })]).toEqual([0, 0, 0, 1, 2, 2, 1])
})

test('a value that was written with another schema is converted to the schema of the codec', () => {
  const codec = avroValue<Point>(schema).open(1, lookup({ 9: older }))
  const bytes = Buffer.from([0, 0, 0, 0, 9, 4])
  expect(codec.decode(bytes, 0, bytes.length)).toEqual({ x: 2, y: 7 })
})

test('an unknown schema id causes an error that contains the id, and values with this id are decoded once the schema is loaded', () => {
  const loaded: Record<number, AvroSchema> = {}
  const codec = avroValue<Point>(schema).open(1, lookup(loaded))
  const bytes = Buffer.from([0, 0, 0, 0, 9, 4])
  const attempt = () => codec.decode(bytes, 0, bytes.length)
  expect(attempt).toThrow(UnknownSchemaError)
  expect(attempt).toThrow(expect.objectContaining({ schemaId: 9 }))
  loaded[9] = older
  expect(attempt()).toEqual({ x: 2, y: 7 })
})

test('an id whose schema cannot be resolved causes a codec error with the reason', () => {
  const codec = avroValue<Point>(schema).open(1, lookup({ 9: foreign }))
  const bytes = Buffer.from([0, 0, 0, 0, 9, 2, 65])
  expect(() => codec.decode(bytes, 0, bytes.length)).toThrow(CodecError)
  expect(() => codec.decode(bytes, 0, bytes.length)).toThrow('.x: string cannot be read as int')
})

test.each([
  ['an empty buffer', [], 'too few'],
  ['a short header', [0, 0, 0], 'too few'],
  ['another magic byte', [1, 0, 0, 0, 1, 2, 2], 'begins with byte 1'],
  ['JSON', [...Buffer.from('{"x":1}')], 'begins with byte 123'],
  ['a truncated body', [0, 0, 0, 0, 1, 2], 'Point.y: the bytes end inside the value'],
  ['trailing bytes', [0, 0, 0, 0, 1, 2, 2, 0], 'Point: 1 bytes are left after the value'],
])('%s causes a codec error', (_, bytes, message) => {
  const codec = avroValue<Point>(schema).open(1, lookup())
  const buffer = Buffer.from(bytes)
  expect(() => codec.decode(buffer, 0, buffer.length)).toThrow(CodecError)
  expect(() => codec.decode(buffer, 0, buffer.length)).toThrow(message)
})

test('encoding a value that does not match the schema leaves the writer unchanged', () => {
  const out = byteWriter(4)
  out.length = 2
  const codec = avroValue<Point>(schema).open(1, lookup())
  expect(() => codec.encode({ x: 1.5, y: 0 }, out)).toThrow('Point.x: expected a 32-bit integer')
  expect(out.length).toBe(2)
})

test("a value whose writer's schema has a chain of 20,000 records causes a codec error and no stack overflow", () => {
  const links = Array.from({ length: 20_000 }, (_, index) => ({
    name: `link${index}`,
    type: { type: 'record', name: `L${index}`, fields: index === 0 ? [] : [{ name: 'next', type: `L${index - 1}` }] },
  }))
  const list = { name: 'list', type: { type: 'array', items: `L${links.length - 1}` } }
  const chain = { type: 'record', name: 'Point', fields: [...links, list, { name: 'x', type: 'int' }] }
  const codec = avroValue<Point>(schema).open(1, lookup({ 9: chain as AvroSchema }))
  const bytes = Buffer.from([0, 0, 0, 0, 9, 4])
  expect(() => codec.decode(bytes, 0, bytes.length)).toThrow(CodecError)
})

test("a value whose writer's schema has an endless default causes a codec error and no stack overflow", () => {
  const endless = { type: 'record', name: 'Point', fields: [{ name: 'x', type: 'Point', default: {} }] }
  const codec = avroValue<Point>(schema).open(1, lookup({ 9: endless as AvroSchema }))
  const bytes = Buffer.from([0, 0, 0, 0, 9, 4])
  expect(() => codec.decode(bytes, 0, bytes.length)).toThrow(CodecError)
})

test.each<[string, AvroSchema, unknown]>([
  ['null for a string', 'string', null],
  ['text for a number', 'long', '0'],
  ['null for a list', { type: 'array', items: 'string' }, null],
])("a value is read even if the writer's schema has a default that does not fit its type: %s", (_, type, unfit) => {
  const fields = [
    { name: 'x', type: 'int' },
    { name: 'note', type, default: unfit },
  ]
  const codec = avroValue<Point>(schema).open(1, lookup({ 9: { type: 'record', name: 'Point', fields } as AvroSchema }))
  const bytes = Buffer.from([0, 0, 0, 0, 9, 4, 0])
  expect(codec.decode(bytes, 0, bytes.length)).toEqual({ x: 2, y: 7 })
})

test.each([
  ['a namespace with a hyphen', { namespace: 'com.my-shop' }, 'z'],
  ['the namespace of a nested Java class', { namespace: 'com.acme.Outer$' }, 'z'],
  ['a field name with an umlaut', {}, 'größe'],
])("a value is read even if the writer's schema has %s, which Java accepts", (_, names, field) => {
  const fields = [
    { name: field, type: 'string' },
    { name: 'x', type: 'int' },
  ]
  const codec = avroValue<Point>(schema).open(1, lookup({ 9: { type: 'record', name: 'Point', ...names, fields } }))
  const bytes = Buffer.from([0, 0, 0, 0, 9, 0, 4])
  expect(codec.decode(bytes, 0, bytes.length)).toEqual({ x: 2, y: 7 })
})
