import type { AvroSchema, Codec } from '../../pipelines/engine/index.ts'
import { compileDecoder } from '../../schemas/avro/decoder.ts'
import { compileEncoder } from '../../schemas/avro/encoder.ts'

/** Creates a codec for Avro binary without a header. The jobs use it for the values of all records. */
export function bareAvro<T>(schema: AvroSchema): Codec<T> {
  return { encode: compileEncoder<T>(schema), decode: compileDecoder<T>(schema) }
}
