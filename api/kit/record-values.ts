import type { RecordChunk } from '../../kafka/transport.ts'
import { type Codec, CodecError, UnknownSchemaError } from '../../schemas/codec.ts'
import type { Logger } from './logging.ts'

export interface RecordValuesOptions<T> {
  /** Decodes a record. Throws CodecError, or UnknownSchemaError if the record's schema is not loaded yet. */
  decode(chunk: RecordChunk, index: number): T
  apply(decoded: T, chunk: RecordChunk, index: number): void
  /**
   * Loads the schema that a value was written with. Called after UnknownSchemaError. Resolves with `not-found` if there
   * is no such schema, and the record is then skipped.
   */
  loadSchema(schemaId: number): Promise<unknown>
  readonly topic: string
  readonly log: Logger
}

/**
 * Creates a function that decodes and applies records, and waits only for schemas that are not loaded yet. An invalid
 * record is logged, and the entry for its key keeps the last valid value.
 */
export function recordApplier<T>(options: RecordValuesOptions<T>): (chunk: RecordChunk, index: number) => void | Promise<void> {
  const { decode, apply, loadSchema, topic, log } = options

  function skip(chunk: RecordChunk, index: number): void {
    log.error({ topic, partition: chunk.partition, offset: chunk.offsets[index] }, 'global_table_bad_record')
  }

  function applyNow(chunk: RecordChunk, index: number): void {
    try {
      apply(decode(chunk, index), chunk, index)
    } catch (error) {
      if (!(error instanceof CodecError)) throw error
      skip(chunk, index)
    }
  }

  async function applyWithSchema(chunk: RecordChunk, index: number, schemaId: number): Promise<void> {
    if ((await loadSchema(schemaId)) === 'not-found') skip(chunk, index)
    else await applyRecord(chunk, index)
  }

  function applyRecord(chunk: RecordChunk, index: number): void | Promise<void> {
    try {
      applyNow(chunk, index)
    } catch (error) {
      if (!(error instanceof UnknownSchemaError)) throw error
      return applyWithSchema(chunk, index, error.schemaId)
    }
  }

  return applyRecord
}

/** Decodes a record's value; undefined for a tombstone. */
export function recordValue<V>(values: Codec<V>, { buffer, valueStart, valueEnd }: RecordChunk, index: number): V | undefined {
  return valueStart[index] < 0 ? undefined : values.decode(buffer, valueStart[index], valueEnd[index])
}
