import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compileDecoder } from '../../../schemas/avro/decoder.ts'
import { compileEncoder } from '../../../schemas/avro/encoder.ts'
import { byteWriter, CodecError } from '../../../schemas/codec.ts'
import type { AvroSchema } from '../../../schemas/topic.ts'

const int64: AvroSchema = { type: 'long', logicalType: 'int64' }

function encoded(schema: AvroSchema, value: unknown): Buffer {
  const out = byteWriter(1)
  compileEncoder(schema)(value, out)
  return Buffer.from(out.buffer.subarray(0, out.length))
}

function decoded(schema: AvroSchema, bytes: readonly number[] | Buffer): unknown {
  return compileDecoder(schema)(Buffer.from(bytes), 0, bytes.length)
}

/** Encodes a long as the format defines it, in BigInt arithmetic. */
function zigzagVarint(value: bigint): number[] {
  let bits = BigInt.asUintN(64, (value << 1n) ^ (value >> 63n))
  const bytes: number[] = []
  for (; bits >= 128n; bits >>= 7n) bytes.push(Number(bits & 127n) | 128)
  return [...bytes, Number(bits)]
}

describe('64-bit integers', () => {
  const edges = [
    0n,
    1n,
    63n,
    64n,
    8191n,
    8192n,
    2n ** 27n,
    2n ** 28n,
    2n ** 30n,
    2n ** 31n,
    2n ** 52n,
    2n ** 53n,
    2n ** 55n,
    2n ** 62n,
    2n ** 63n,
  ]
  const values = edges
    .flatMap((edge) => [edge - 1n, edge, edge + 1n, -edge - 1n, -edge, -edge + 1n])
    .filter((value) => BigInt.asIntN(64, value) === value)

  test.each(values)('%s is encoded and decoded as an int64, and as a long if it is a safe integer', (value) => {
    const bytes = zigzagVarint(value)
    expect([...encoded(int64, value)]).toEqual(bytes)
    expect(decoded(int64, bytes)).toBe(value)
    if (Number.isSafeInteger(Number(value)) && BigInt(Number(value)) === value) {
      expect([...encoded('long', Number(value))]).toEqual(bytes)
      expect(decoded('long', bytes)).toBe(Number(value))
    } else {
      expect(() => decoded('long', bytes)).toThrow('outside ±(2^53-1)')
    }
  })

  test('are exact over the whole range', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (value) => {
        expect(decoded(int64, zigzagVarint(value))).toBe(value)
        expect([...encoded(int64, value)]).toEqual(zigzagVarint(value))
      }),
    )
  })

  test('are accepted even if they are encoded in more bytes than necessary, as in other implementations', () => {
    expect(decoded('long', [0x82, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00])).toBe(1)
    expect(decoded('int', [0x82, 0x80, 0x80, 0x80, 0x00])).toBe(1)
  })

  test.each([
    ['long', [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02]],
    ['long', [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00]],
    ['int', [0x80, 0x80, 0x80, 0x80, 0x10]],
    ['int', [0x80, 0x80, 0x80, 0x80, 0x80, 0x00]],
  ])('values of type %s with more bits or bytes than the type allows are refused', (schema, bytes) => {
    expect(() => decoded(schema, bytes)).toThrow('more bytes than its type allows')
  })
})

describe('hostile bytes', () => {
  /** A count of 2^50 items. A loop over them would practically never end. */
  const huge = zigzagVarint(2n ** 50n)
  const hugeNegative = [...zigzagVarint(-(2n ** 50n)), 0]

  test.each([
    ['strings', { type: 'array', items: 'string' }],
    ['nulls', { type: 'array', items: 'null' }],
    ['empty records', { type: 'array', items: { type: 'record', name: 'E', fields: [] } }],
    ['map entries', { type: 'map', values: 'null' }],
  ])('a count of 2^50 %s is refused immediately', (_, schema) => {
    expect(() => decoded(schema, huge)).toThrow(CodecError)
    expect(() => decoded(schema, hugeNegative)).toThrow(CodecError)
  })

  test('one limit applies to the items of all arrays of nulls together', () => {
    const schema = { type: 'array', items: { type: 'array', items: 'null' } }
    const inner = [...zigzagVarint(60_000n), 0]
    expect(decoded(schema, [2, ...inner, 0])).toHaveLength(1)
    expect(() => decoded(schema, [4, ...inner, ...inner, 0])).toThrow('items without bytes')
  })

  test('a length of 2^50 and a negative length are refused', () => {
    expect(() => decoded('string', huge)).toThrow('the bytes end inside the value')
    expect(() => decoded('bytes', huge)).toThrow('the bytes end inside the value')
    expect(() => decoded('bytes', [1])).toThrow('a length is negative')
  })

  test('a block whose length is wrong is refused', () => {
    const schema = { type: 'array', items: 'long' }
    expect(decoded(schema, [3, 4, 2, 4, 0])).toEqual([1, 2])
    expect(() => decoded(schema, [3, 2, 2, 4, 0])).toThrow('does not have its declared size')
    expect(() => decoded(schema, [3, 40, 2, 4, 0])).toThrow('larger than the remaining bytes')
    expect(() => decoded(schema, [3, 1, 2, 4, 0])).toThrow('larger than the remaining bytes')
  })

  test('several blocks form one array or map', () => {
    expect(decoded({ type: 'array', items: 'long' }, [2, 2, 3, 4, 4, 6, 0])).toEqual([1, 2, 3])
    expect(decoded({ type: 'map', values: 'long' }, [2, 2, 97, 2, 1, 6, 2, 98, 4, 0])).toEqual({ a: 1, b: 2 })
  })

  test('records that are nested more than 500 levels deep are refused before the stack overflows', () => {
    const node = { type: 'record', name: 'Node', fields: [{ name: 'next', type: ['null', 'Node'] }] }
    const nested = (depth: number) => [...Array(depth).fill(2), 0]
    let value = decoded(node, nested(400)) as { next: unknown } | null
    for (let depth = 0; depth < 400; depth++) value = value?.next as { next: unknown }
    expect(value).toEqual({ next: null })
    expect(() => decoded(node, nested(100_000))).toThrow('nested deeper than 500')
    const direct = { type: 'record', name: 'Self', fields: [{ name: 'self', type: 'Self' }] }
    expect(() => decoded(direct, [])).toThrow('nested deeper than 500')
  })

  test.each([
    ['invalid UTF-8', 'string', [4, 0xc3, 0x28], 'not valid UTF-8'],
    ['an overlong form', 'string', [4, 0xc0, 0x80], 'not valid UTF-8'],
    ['a surrogate', 'string', [6, 0xed, 0xa0, 0x80], 'not valid UTF-8'],
    ['a boolean of 2', 'boolean', [2], 'must be 0 or 1'],
    ['a union index that is too large', ['null', 'int'], [4], 'the union has no branch with index 2 (size: 2)'],
    ['a negative union index', ['null', 'int'], [1], 'the union has no branch with index -1 (size: 2)'],
    ['an enum index that is too large', { type: 'enum', name: 'E', symbols: ['A'] }, [2], 'the enum has no symbol with index 1 (size: 1)'],
    ['an invalid map key', { type: 'map', values: 'null' }, [2, 2, 0xff, 0], 'not valid UTF-8'],
  ])('%s is refused', (_, schema, bytes, message) => {
    expect(() => decoded(schema as AvroSchema, bytes)).toThrow(CodecError)
    expect(() => decoded(schema as AvroSchema, bytes)).toThrow(message)
  })

  test('a replacement character in the input is kept', () => {
    expect(decoded('string', encoded('string', 'a\ufffdb'))).toBe('a\ufffdb')
  })

  test('map keys cannot change a prototype', () => {
    const map = decoded(
      { type: 'map', values: 'int' },
      encoded({ type: 'map', values: 'int' }, { ['__proto__']: 1, constructor: 2 }),
    ) as object
    expect(Object.keys(map).sort()).toEqual(['__proto__', 'constructor'])
    expect(Object.getPrototypeOf(map)).toBeNull()
  })
})

test('positions outside the buffer are refused', () => {
  expect(() => compileDecoder('string')(Buffer.from([2]), 0, 2)).toThrow('is outside the buffer')
})

test('bytes are copies that do not change with their source buffer', () => {
  const source = Buffer.from([2, 65, 66])
  const schema = {
    type: 'record',
    name: 'R',
    fields: [
      { name: 'b', type: 'bytes' },
      { name: 'f', type: { type: 'fixed', name: 'F', size: 1 } },
    ],
  }
  const value = decoded2(schema, source)
  source.fill(0)
  expect(value).toEqual({ b: Buffer.from('A'), f: Buffer.from('B') })
})

function decoded2(schema: AvroSchema, bytes: Buffer): unknown {
  return compileDecoder(schema)(bytes, 0, bytes.length)
}

test('errors contain the path to the invalid value', () => {
  const schema = {
    type: 'record',
    name: 'a.b.Outer',
    fields: [
      {
        name: 'list',
        type: { type: 'array', items: { type: 'record', name: 'Inner', fields: [{ name: 'm', type: { type: 'map', values: 'string' } }] } },
      },
    ],
  }
  const bytes = encoded(schema, { list: [{ m: {} }, { m: { key: 'ab' } }] })
  bytes[bytes.indexOf('ab')] = 0xff
  expect(() => decoded(schema, bytes)).toThrow('Outer.list[1].m{key}: the string is not valid UTF-8')
})
