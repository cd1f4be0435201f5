import { type ByteWriter, type Codec, CodecError, UnknownSchemaError } from '../codec.ts'
import type { AvroSchema, SchemaLookup, ValueFormat } from '../topic.ts'
import { compileDecoder, type Decode } from './decoder.ts'
import { compileEncoder, type Encode } from './encoder.ts'
import { IncompatibleSchemaError } from './resolve.ts'
import { SchemaError } from './types.ts'

/**
 * First byte of Confluent's wire format. It is followed by the schema id in four bytes (big-endian) and the Avro
 * binary.
 */
const MAGIC = 0
export const HEADER_BYTES = 5
/**
 * An id that no value has, because it does not fit into a header. A codec that is opened with this id therefore
 * resolves every value from the writer's schema, even if that is the codec's own schema.
 */
export const NO_SCHEMA_ID = 2 ** 32

/** Writes the header of a value. The caller must have reserved the bytes. */
export function writeHeader(schemaId: number, out: ByteWriter): void {
  out.buffer[out.length] = MAGIC
  out.buffer.writeInt32BE(schemaId, out.length + 1)
  out.length += HEADER_BYTES
}

/** Returns true for a value that was written with this schema. */
export function hasHeader(schemaId: number, buffer: Buffer, start: number, end: number): boolean {
  return schemaIdOf(buffer, start, end) === schemaId
}

/** Returns the id of the writer's schema; undefined if the value has no header. */
export function schemaIdOf(buffer: Buffer, start = 0, end = buffer.length): number | undefined {
  return end - start >= HEADER_BYTES && buffer[start] === MAGIC ? buffer.readInt32BE(start + 1) : undefined
}

/**
 * Creates a format for Avro values. Each value begins with a header that contains the id of the writer's schema.
 * Values that were written with a different schema are resolved to this schema.
 */
export function avroValue<T>(schema: AvroSchema): ValueFormat<T> {
  // The functions are compiled on first use and only once per format, regardless of the number of tasks that open the
  // format.
  let own: { encode: Encode<T>; decode: Decode<T> } | undefined
  const resolved = new WeakMap<object, Decode<T>>()

  function compileOwn(): { encode: Encode<T>; decode: Decode<T> } {
    own ??= { encode: compileEncoder<T>(schema), decode: compileDecoder<T>(schema) }
    return own
  }

  function decoderFrom(writer: AvroSchema): Decode<T> {
    if (typeof writer !== 'object') return decoderOrRefusal(writer)
    const known = resolved.get(writer) ?? decoderOrRefusal(writer)
    resolved.set(writer, known)
    return known
  }

  function decoderOrRefusal(writer: AvroSchema): Decode<T> {
    try {
      return compileDecoder<T>(writer, schema)
    } catch (error) {
      // A long chain of records overflows the stack, which throws a RangeError.
      if (!(error instanceof IncompatibleSchemaError || error instanceof SchemaError || error instanceof RangeError)) throw error
      const reason = error.message
      return function refuse() {
        throw new CodecError(`this program cannot read values of the writer's schema: ${reason}`)
      }
    }
  }

  function open(schemaId: number, schemas: SchemaLookup): Codec<T> {
    const { encode: encodeBody, decode: decodeOwn } = compileOwn()
    const decoders = new Map<number, Decode<T>>([[schemaId, decodeOwn]])

    function encode(value: T, out: ByteWriter): void {
      out.reserve(HEADER_BYTES)
      const start = out.length
      writeHeader(schemaId, out)
      try {
        encodeBody(value, out)
      } catch (error) {
        out.length = start
        throw error
      }
    }

    function decode(buffer: Buffer, start: number, end: number): T {
      if (end - start < HEADER_BYTES) throw new CodecError(`${end - start} bytes are too few for a value in the schema registry's format`)
      if (buffer[start] !== MAGIC)
        throw new CodecError(`the value begins with byte ${buffer[start]} instead of the schema registry's magic byte ${MAGIC}`)
      const id = buffer.readInt32BE(start + 1)
      const decodeBody = id === schemaId ? decodeOwn : (decoders.get(id) ?? loadedDecoder(id))
      return decodeBody(buffer, start + HEADER_BYTES, end)
    }

    function loadedDecoder(id: number): Decode<T> {
      const writer = schemas.get(id)
      if (writer === undefined) throw new UnknownSchemaError(id)
      const decoder = decoderFrom(writer)
      decoders.set(id, decoder)
      return decoder
    }

    return { encode, decode }
  }

  return { schema, open }
}
