import { expect, test } from 'vitest'
import { compileDecoder } from '../../../schemas/avro/decoder.ts'
import { compileEncoder } from '../../../schemas/avro/encoder.ts'
import { byteWriter, CodecError } from '../../../schemas/codec.ts'
import type { AvroSchema } from '../../../schemas/topic.ts'

function encode(schema: AvroSchema, value: unknown): Buffer {
  const out = byteWriter(1)
  compileEncoder(schema)(value, out)
  return Buffer.from(out.buffer.subarray(0, out.length))
}

const int64 = { type: 'long', logicalType: 'int64' }
const fixed = { type: 'fixed', name: 'F', size: 2 }
const letters = { type: 'enum', name: 'E', symbols: ['A', 'B'] }

test.each<[string, AvroSchema, unknown, string]>([
  ['null', 'null', 0, 'expected null'],
  ['boolean', 'boolean', 1, 'expected a boolean'],
  ['int with a fraction', 'int', 1.5, 'expected a 32-bit integer'],
  ['int that does not fit into 32 bits', 'int', 2 ** 31, 'expected a 32-bit integer'],
  ['int NaN', 'int', Number.NaN, 'expected a 32-bit integer'],
  ['int as text', 'int', '1', 'expected a 32-bit integer'],
  ['long outside 53 bits', 'long', 2 ** 53, 'expected an integer within ±(2^53-1)'],
  ['long as bigint', 'long', 1n, 'expected an integer within ±(2^53-1)'],
  ['int64 as number', int64, 1, 'expected a bigint'],
  ['int64 too large', int64, 2n ** 63n, 'does not fit into 64 bits'],
  ['int64 too small', int64, -(2n ** 63n) - 1n, 'does not fit into 64 bits'],
  ['float as text', 'float', '1', 'expected a number'],
  ['float overflow', 'float', 1e300, 'outside the range of a float'],
  ['double', 'double', null, 'expected a number'],
  ['bytes', 'bytes', 'text', 'expected a Uint8Array'],
  ['string', 'string', 1, 'expected a string'],
  ['string with a lone surrogate', 'string', 'a\ud800', 'lone surrogate'],
  ['a long string with a lone surrogate', 'string', `${'x'.repeat(2000)}\ud800`, 'lone surrogate'],
  ['fixed of another size', fixed, Buffer.alloc(3), 'expected 2 bytes'],
  ['enum', letters, 'C', 'expected one of A, B'],
  ['array', { type: 'array', items: 'int' }, { length: 1 }, 'expected an array'],
  ['map', { type: 'map', values: 'int' }, [1], 'expected an object'],
  ['record', { type: 'record', name: 'R', fields: [] }, null, 'expected an object'],
  ['union', ['null', 'string'], 1, 'expected one of null, string'],
  ['union of wrapped branches', ['int', 'double'], 1, 'expected an object { branch: value }'],
  ['unknown branch', ['int', 'double'], { long: 1 }, 'the union has no branch long'],
  ['two branches', ['int', 'double'], { int: 1, double: 2 }, 'expected an object with one branch'],
])('%s: a value that the schema does not allow is refused', (_, schema, value, message) => {
  expect(() => encode(schema, value)).toThrow(CodecError)
  expect(() => encode(schema, value)).toThrow(message)
})

const nested: AvroSchema = {
  type: 'record',
  name: 'n.Order',
  fields: [
    { name: 'lines', type: { type: 'array', items: { type: 'record', name: 'Line', fields: [{ name: 'count', type: 'int' }] } } },
    { name: 'notes', type: { type: 'map', values: ['null', 'string'] }, default: {} },
    { name: 'id', type: int64, default: 5 },
    { name: 'amount', type: ['int', 'double'], default: 3 },
    { name: 'raw', type: 'bytes', default: '\u0000ÿ' },
    { name: 'tags', type: { type: 'array', items: letters }, default: ['B'] },
  ],
}

test('errors contain the path to the invalid value, and leave the writer unchanged', () => {
  const out = byteWriter(8)
  out.length = 5
  const write = compileEncoder(nested)
  expect(() => write({ lines: [{ count: 1 }, { count: 0.5 }] }, out)).toThrow('Order.lines[1].count: expected a 32-bit integer')
  expect(() => write({ lines: [], notes: { a: 'b', c: 1 } }, out)).toThrow('Order.notes{c}: expected one of null, string')
  expect(() => write({ notes: {} }, out)).toThrow('Order.lines: the field is missing and has no default')
  expect(out.length).toBe(5)
})

test('absent fields take their defaults, such as maps, 64-bit integers, unions, bytes and arrays', () => {
  const bytes = encode(nested, { lines: [] })
  const value = compileDecoder(nested)(bytes, 0, bytes.length)
  expect(value).toEqual({ lines: [], notes: {}, id: 5n, amount: { int: 3 }, raw: Buffer.from([0, 255]), tags: ['B'] })
})

test('values that are nested too deeply are refused', () => {
  const node = { type: 'record', name: 'Node', fields: [{ name: 'next', type: ['null', 'Node'] }] }
  const circle: { next: unknown } = { next: null }
  circle.next = circle
  expect(() => encode(node, circle)).toThrow('nested deeper than 500')
})

test("the writer's buffer grows wherever it turns out to be too small", () => {
  const schema = {
    type: 'record',
    name: 'R',
    fields: [
      { name: 'a', type: 'double' },
      { name: 'b', type: 'string' },
      { name: 'c', type: { type: 'array', items: 'double' } },
      { name: 'd', type: ['null', 'double'] },
      { name: 'e', type: { type: 'map', values: 'double' } },
    ],
  }
  const value = { a: 0.1, b: 'ä'.repeat(600), c: [0.2, 0.3], d: 0.4, e: { x: 0.5, y: 0.6 } }
  const whole = encode(schema, value)
  for (let room = 0; room < 1300; room += 7) {
    const out = byteWriter(room + 1)
    out.length = room
    compileEncoder(schema)(value, out)
    expect(out.buffer.subarray(room, out.length)).toEqual(whole)
  }
})
