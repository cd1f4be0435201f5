import { expect, test } from 'vitest'
import { canonicalText } from '../../../../deploy/local/registry/canonical.ts'
import { parseSchemaText } from '../../../../schemas/avro/parse.ts'
import { SchemaError } from '../../../../schemas/avro/types.ts'

function canonical(schema: unknown): string {
  return canonicalText(parseSchemaText(typeof schema === 'string' ? schema : JSON.stringify(schema)))
}

const order = { type: 'record', name: 'Order', namespace: 'shop', fields: [{ name: 'id', type: 'long' }] }

test('the canonical text of a schema does not depend on white space, attribute order or the spelling of names', () => {
  const text = '{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"id","type":"long"}]}'
  expect(canonical(order)).toBe(text)
  expect(canonical(JSON.stringify(order, null, 4))).toBe(text)
  expect(canonical({ fields: [{ type: { type: 'long' }, name: 'id' }], name: 'shop.Order', type: 'record' })).toBe(text)
  expect(
    canonical({ type: 'record', name: 'shop.Order', namespace: 'ignored', fields: [{ name: 'id', type: 'long', order: 'ascending' }] }),
  ).toBe(text)
})

test('a canonical text stays the same when it is canonicalized again', () => {
  const once = canonical({
    type: 'record',
    name: 'a.Node',
    doc: 'a list',
    aliases: ['Old', 'b.Older'],
    fields: [
      { name: 'next', type: ['null', 'Node'], default: null, order: 'ignore' },
      {
        name: 'kind',
        type: { type: 'enum', name: 'b.Kind', symbols: ['A', 'B'], default: 'A', 'x-note': { z: 1, a: [2] } },
        aliases: ['sort'],
      },
      { name: 'other', type: 'b.Kind', default: 'B' },
      { name: 'at', type: { type: 'long', logicalType: 'timestamp-millis' } },
      { name: 'hash', type: { type: 'fixed', name: 'Hash', size: 16 } },
      { name: 'tags', type: { type: 'map', values: { type: 'array', items: 'string' } }, default: {} },
    ],
  })
  expect(canonical(once)).toBe(once)
  expect(once).toContain('"type":["null","Node"]')
  expect(once).toContain('{"name":"other","type":"b.Kind","default":"B"}')
  expect(once).toContain('"aliases":["a.Old","b.Older"]')
})

test('schemas that differ in documentation, aliases, defaults or logical types have different canonical texts', () => {
  const texts = [
    order,
    { ...order, doc: 'an order' },
    { ...order, aliases: ['Purchase'] },
    { ...order, fields: [{ name: 'id', type: 'long', default: 0 }] },
    { ...order, fields: [{ name: 'id', type: { type: 'long', logicalType: 'timestamp-millis' } }] },
  ].map(canonical)
  expect(new Set(texts).size).toBe(texts.length)
})

test('the default of a field of type long keeps its digits, even beyond 2^53', () => {
  const text = '{"type":"record","name":"R","fields":[{"name":"n","type":"long","default":9223372036854775807}]}'
  expect(canonical(text)).toBe(text)
})

test('a bare type name is a schema, with or without quotes', () => {
  expect(canonical('"string"')).toBe('"string"')
  expect(canonical('string')).toBe('"string"')
})

test.each([
  ['not JSON', '{', /not JSON/],
  ['an unknown type', '"strang"', /unknown type "strang"/],
  ['a record without fields', { type: 'record', name: 'R' }, /record "R" without "fields"/],
  ['a record without name', { type: 'record', fields: [] }, /without a name/],
  ['an illegal name', { type: 'record', name: 'my-record', fields: [] }, /"my-record" is not a legal name/],
  ['a field twice', { ...order, fields: [...order.fields, { name: 'id', type: 'int' }] }, /record "shop.Order" has two fields named "id"/],
  ['a field without type', { ...order, fields: [{ name: 'id' }] }, /field "shop.Order.id" without "type"/],
  ['a default of the wrong type', { ...order, fields: [{ name: 'id', type: 'long', default: 'x' }] }, /default "x" does not fit/],
  ['an int default out of range', { ...order, fields: [{ name: 'id', type: 'int', default: 2147483648 }] }, /does not fit/],
  [
    'a long default out of range',
    '{"type":"record","name":"R","fields":[{"name":"n","type":"long","default":9223372036854775808}]}',
    /does not fit/,
  ],
  ['a union in a union', ['null', ['string']], /union that directly contains another union/],
  ['a type twice in a union', ['string', 'null', 'string'], /"string" twice/],
  ['a name defined twice', [order, order], /"shop.Order" is defined twice/],
  ['a symbol twice', { type: 'enum', name: 'E', symbols: ['A', 'A'] }, /contains a symbol twice/],
  ['an enum default that is not a symbol', { type: 'enum', name: 'E', symbols: ['A'], default: 'B' }, /default "B"/],
  ['a fixed without size', { type: 'fixed', name: 'F' }, /size of fixed "F"/],
  ['an array without items', { type: 'array' }, /an array without "items"/],
  ['a number', '3', /3 is not a schema/],
])('%s is refused with the reason', (_what, schema, reason) => {
  expect(() => canonical(schema)).toThrow(SchemaError)
  expect(() => canonical(schema)).toThrow(reason)
})

test('a schema with 1,000 nested types is refused instead of crashing the process', () => {
  const deep = `${'{"type":"array","items":'.repeat(1_000)}"int"${'}'.repeat(1_000)}`
  expect(() => canonical(deep)).toThrow(/nested deeper/)
})
