import avsc from 'avsc'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compileDecoder } from '../../../schemas/avro/decoder.ts'
import { compileEncoder } from '../../../schemas/avro/encoder.ts'
import { byteWriter, CodecError } from '../../../schemas/codec.ts'
import type { AvroSchema } from '../../../schemas/topic.ts'
import { schemas, valuesOf } from './arbitraries.ts'

const RUNS = { numRuns: 400 }
/** The varint of -(2^52) - 3. Its zigzag form is 2^53 + 5, which a double cannot represent. */
const ODD_BELOW_MINUS_2_TO_52 = [133, 128, 128, 128, 128, 128, 128, 16]

const schemaAndValue = schemas.chain((schema) => fc.record({ schema: fc.constant(schema), value: valuesOf(schema) }))

/** Replaces the long of avsc, whose floating-point arithmetic is exact only within ±2^52. */
const exactLong: avsc.Type = Object.create(
  avsc.types.LongType.__with({
    fromBuffer: (unpacked: Buffer) => Number(unpacked.readBigInt64LE()),
    toBuffer(value: number) {
      const unpacked = Buffer.alloc(8)
      unpacked.writeBigInt64LE(BigInt(value))
      return unpacked
    },
    fromJSON: Number,
    toJSON: Number,
    isValid: Number.isSafeInteger,
    compare: (a: number, b: number) => Math.sign(a - b),
  }),
  // avsc wraps the values of a union with two types of numbers, and recognises such types by their names.
  { typeName: { value: 'long' } },
)

function independent(schema: AvroSchema): avsc.Type {
  return avsc.Type.forSchema(schema as avsc.Schema, { registry: { long: exactLong } })
}

function encoded(schema: AvroSchema, value: unknown): Buffer {
  const out = byteWriter(1)
  compileEncoder(schema)(value, out)
  return Buffer.from(out.buffer.subarray(0, out.length))
}

test('avsc reads what the encoder writes, and writes the same bytes', () => {
  fc.assert(
    fc.property(schemaAndValue, ({ schema, value }) => {
      const type = independent(schema)
      const bytes = encoded(schema, value)
      expect(bytes).toEqual(type.toBuffer(value))
      expect(type.fromBuffer(bytes)).toEqual(value)
    }),
    RUNS,
  )
})

test('the decoder reads what avsc writes, even from the middle of a buffer', () => {
  fc.assert(
    fc.property(schemaAndValue, ({ schema, value }) => {
      const bytes = independent(schema).toBuffer(value)
      const framed = Buffer.concat([Buffer.from([9]), bytes, Buffer.from([9])])
      expect(compileDecoder(schema)(framed, 1, framed.length - 1)).toEqual(value)
    }),
    RUNS,
  )
})

test('truncated input and trailing bytes cause a CodecError', () => {
  fc.assert(
    fc.property(schemaAndValue, fc.nat(), ({ schema, value }, cut) => {
      const bytes = encoded(schema, value)
      const decode = compileDecoder(schema)
      // Adds zeros after the end. They would complete the value if the decoder read past the end.
      const padded = Buffer.concat([bytes, Buffer.alloc(64)])
      expect(() => decode(padded, 0, bytes.length + 1)).toThrow(CodecError)
      if (bytes.length > 0) expect(() => decode(padded, 0, cut % bytes.length)).toThrow(CodecError)
    }),
    RUNS,
  )
})

test('random bytes either decode to the same value as in avsc or cause a CodecError', () => {
  fc.assert(
    fc.property(schemas, fc.uint8Array({ maxLength: 40 }), (schema, array) => {
      const bytes = Buffer.from(array)
      let value: unknown
      try {
        value = compileDecoder(schema)(bytes, 0, bytes.length)
      } catch (error) {
        expect(error).toBeInstanceOf(CodecError)
        return
      }
      expect(independent(schema).fromBuffer(bytes)).toEqual(value)
    }),
    { numRuns: 2000, examples: [['long', Uint8Array.of(...ODD_BELOW_MINUS_2_TO_52)]] },
  )
})
