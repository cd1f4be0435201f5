import type { AvroSchema, Codec } from '../../pipelines/engine/index.ts'
import { compileDecoder } from '../../schemas/avro/decoder.ts'
import { compileEncoder } from '../../schemas/avro/encoder.ts'

/** Creates a codec of Avro binary without a header, which the jobs use. */
export function bareAvro<T>(schema: AvroSchema): Codec<T> {
  return { encode: compileEncoder<T>(schema), decode: compileDecoder<T>(schema) }
}
