/**
 * Converts one value to and from bytes. All codecs of keys and values implement this interface. The bytes of an Avro
 * value include its header.
 */
export interface Codec<T> {
  /**
   * Appends the encoded value.
   * @throws CodecError when the value does not match the schema or format
   */
  encode(value: T, out: ByteWriter): void
  /**
   * Decodes exactly the bytes [start, end).
   * @throws CodecError when the bytes are truncated, malformed or too long
   * @throws UnknownSchemaError when the value was written with a schema that is not loaded yet
   */
  decode(buffer: Buffer, start: number, end: number): T
}

/** A growing, reusable buffer. Encoders append at `length`. */
export interface ByteWriter {
  buffer: Buffer
  length: number
  /** Reserves room for `bytes` more bytes after `length`. The call may replace `buffer`. */
  reserve(bytes: number): void
}

/** Thrown when bytes or a value do not match the schema or format of a codec. */
export class CodecError extends Error {
  override readonly name = 'CodecError'
}

/** Thrown when the value was written with a schema that is not loaded yet. Load the schema, then decode again. */
export class UnknownSchemaError extends Error {
  override readonly name = 'UnknownSchemaError'
  readonly schemaId: number
  constructor(schemaId: number) {
    super(`schema ${schemaId} is not loaded`)
    this.schemaId = schemaId
  }
}

const INITIAL_BYTES = 4096

/** Creates a ByteWriter that at least doubles its buffer when the buffer is full. */
export function byteWriter(initialBytes: number = INITIAL_BYTES): ByteWriter {
  const writer: ByteWriter = {
    buffer: Buffer.allocUnsafeSlow(initialBytes),
    length: 0,
    reserve(bytes) {
      const needed = writer.length + bytes
      if (needed <= writer.buffer.length) return
      const grown = Buffer.allocUnsafeSlow(Math.max(needed, writer.buffer.length * 2))
      writer.buffer.copy(grown, 0, 0, writer.length)
      writer.buffer = grown
    },
  }
  return writer
}
