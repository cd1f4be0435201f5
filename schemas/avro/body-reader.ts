import { byteWriter, type Codec } from '../codec.ts'
import type { ValueFormat } from '../topic.ts'
import { HEADER_BYTES, hasHeader } from './value.ts'

/**
 * Returns `whole` with a different decoder, which reads only the needed fields from a value's Avro binary. The encoder
 * still takes whole values. If a value was written with a different schema, it is first decoded and encoded again.
 * @param read decodes the needed fields; throws CodecError if the bytes are not one value of the format's schema
 */
export function bodyReader<T, Body>(whole: ValueFormat<T>, read: (buffer: Buffer, start: number, end: number) => Body): ValueFormat<Body> {
  return {
    schema: whole.schema,
    open(schemaId, schemas): Codec<Body> {
      const codec = whole.open(schemaId, schemas)
      return {
        encode: codec.encode as unknown as Codec<Body>['encode'],
        decode(buffer, start, end) {
          if (hasHeader(schemaId, buffer, start, end)) return read(buffer, start + HEADER_BYTES, end)
          const out = byteWriter()
          codec.encode(codec.decode(buffer, start, end), out)
          return read(out.buffer, HEADER_BYTES, out.length)
        },
      }
    },
  }
}
