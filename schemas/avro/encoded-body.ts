import type { ByteWriter, Codec } from '../codec.ts'
import type { ValueFormat } from '../topic.ts'
import { HEADER_BYTES, writeHeader } from './value.ts'

/** The Avro binary of a whole value, without the header. Nothing checks that the bytes match the schema. */
export class EncodedBody {
  readonly bytes: Pick<ByteWriter, 'buffer' | 'length'>

  constructor(bytes: Pick<ByteWriter, 'buffer' | 'length'>) {
    this.bytes = bytes
  }
}

/**
 * Returns `whole` with an encoder that also accepts values that the caller has already written as Avro binary. Creating
 * objects only to encode them would cost more than the encoding itself.
 */
export function encodedBody<T>(whole: ValueFormat<T>): ValueFormat<T | EncodedBody> {
  const { schema } = whole
  return {
    schema,
    open(schemaId, schemas): Codec<T | EncodedBody> {
      const codec = whole.open(schemaId, schemas)
      return {
        encode(value, out) {
          if (!(value instanceof EncodedBody)) {
            codec.encode(value, out)
            return
          }
          const { buffer, length } = value.bytes
          out.reserve(HEADER_BYTES + length)
          writeHeader(schemaId, out)
          buffer.copy(out.buffer, out.length, 0, length)
          out.length += length
        },
        decode: codec.decode,
      }
    },
  }
}
