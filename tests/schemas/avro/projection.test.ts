import { expect, test } from 'vitest'
import { projection } from '../../../schemas/avro/projection.ts'
import { SchemaError } from '../../../schemas/avro/types.ts'
import { avroValue } from '../../../schemas/avro/value.ts'
import { byteWriter, UnknownSchemaError } from '../../../schemas/codec.ts'
import { rawValue } from '../../../schemas/raw.ts'
import type { AvroSchema } from '../../../schemas/topic.ts'

const schema = {
  type: 'record',
  name: 'Order',
  fields: [
    { name: 'notes', type: { type: 'array', items: 'string' } },
    {
      name: 'buyer',
      type: {
        type: 'record',
        name: 'Buyer',
        fields: [
          { name: 'name', type: 'string' },
          { name: 'id', type: ['null', 'long'], default: null },
        ],
      },
    },
    { name: 'total', type: 'double' },
  ],
} satisfies AvroSchema

const whole = avroValue<object>(schema)
const order = { notes: ['a', 'b'], buyer: { name: 'Ann', id: 7 }, total: 12.5 }
const ID = 3

test('a projection encodes whole records, and decodes only the fields at its paths', () => {
  const format = projection<object>(whole, ['buyer.id', 'total'])
  expect(format.schema).toBe(schema)
  const codec = format.open(ID, { get: () => undefined })
  const out = byteWriter()
  codec.encode(order, out)
  expect(whole.open(ID, { get: () => undefined }).decode(out.buffer, 0, out.length)).toEqual(order)
  expect(codec.decode(out.buffer, 0, out.length)).toEqual({ buyer: { id: 7 }, total: 12.5 })
})

test.each([0, -1, 2 ** 31 - 1, -(2 ** 31)])('a projection refuses records with the unknown schema id %i', (id) => {
  const { decode } = projection<object>(whole, ['total']).open(ID, { get: () => undefined })
  const bytes = Buffer.alloc(13)
  bytes.writeInt32BE(id, 1)
  expect(() => decode(bytes, 0, bytes.length)).toThrow(UnknownSchemaError)
})

test('a projection reads records that were written with another schema once that schema is loaded', () => {
  const older = { ...schema, fields: schema.fields.map((field) => (field.name === 'total' ? { ...field, type: 'int' } : field)) }
  const out = byteWriter()
  avroValue<object>(older)
    .open(9, { get: () => undefined })
    .encode({ ...order, total: 12 }, out)
  const format = projection<object>(whole, ['total'])
  expect(() => format.open(ID, { get: () => undefined }).decode(out.buffer, 0, out.length)).toThrow(UnknownSchemaError)
  const loaded = format.open(ID, { get: (id) => (id === 9 ? older : undefined) })
  expect(loaded.decode(out.buffer, 0, out.length)).toEqual({ total: 12 })
})

test('a path must name a field, and the value must be a record', () => {
  expect(() => projection(whole, ['buyer.age'])).toThrow('Buyer has no field age')
  expect(() => projection(whole, ['total.cents'])).toThrow('"double" is not a record')
  expect(() => projection(rawValue({ encode: () => {}, decode: () => 0 }), ['a'])).toThrow(SchemaError)
})
