/** Bytes of one value: what every key and value codec implements. No framing, no schema id. */
export interface Codec<T> {
  /** Appends the encoded value. Throws CodecError when the value does not fit the schema. */
  encode(value: T, out: ByteWriter): void
  /** Decodes exactly the bytes [start, end). Throws CodecError when they are truncated, malformed or have a rest. Never reads outside. */
  decode(buffer: Buffer, start: number, end: number): T
}

/** A growing buffer that is reused: encoders append at `length`. */
export interface ByteWriter {
  buffer: Buffer
  length: number
  /** Makes room for `bytes` more after `length`; `buffer` may be another one afterwards. */
  reserve(bytes: number): void
}

/** Bytes do not fit the schema, or a value does not. */
export class CodecError extends Error {
  override readonly name = 'CodecError'
}

/** The value was written with a schema that is not loaded yet: load it, then decode again. */
export class UnknownSchemaError extends Error {
  override readonly name = 'UnknownSchemaError'
  readonly schemaId: number
  constructor(schemaId: number) {
    super(`schema ${schemaId} is not loaded`)
    this.schemaId = schemaId
  }
}

const INITIAL_BYTES = 4096

/** A ByteWriter that doubles when it is full. */
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
