import { crc32 } from 'node:zlib'
import { byteWriter } from '../codec.ts'
import { avro } from '../load.ts'
import type { TxnScored } from './types.ts'

const schema = avro('fraud/TxnScored')

/**
 * Version of the format: 16 bits of a checksum of the record's schema. A record that was written with a different
 * version is not read.
 */
const VERSION = crc32(JSON.stringify(schema.schema)) & 0xffff
const VERSION_BYTES = 2
/**
 * The header of Avro values in Kafka: a zero byte and the id of the schema. The header has no meaning outside of Kafka.
 */
const HEADER_BYTES = 5
const NO_SCHEMA_ID = 0

const codec = schema.open(NO_SCHEMA_ID, { get: () => undefined })
const writer = byteWriter()

/** Encodes a scored transaction for Redis: the version in two bytes, followed by Avro without a header. */
export function scoredBytes(scored: TxnScored): Buffer {
  writer.length = 0
  codec.encode(scored, writer)
  const bytes = Buffer.allocUnsafe(VERSION_BYTES + writer.length - HEADER_BYTES)
  bytes.writeUInt16BE(VERSION)
  writer.buffer.copy(bytes, VERSION_BYTES, HEADER_BYTES, writer.length)
  return bytes
}

/**
 * Decodes a scored transaction.
 * @returns undefined for bytes of another version
 */
export function scoredFromBytes(bytes: Buffer): TxnScored | undefined {
  if (bytes.length < VERSION_BYTES || bytes.readUInt16BE() !== VERSION) return undefined
  const value = Buffer.alloc(HEADER_BYTES + bytes.length - VERSION_BYTES)
  bytes.copy(value, HEADER_BYTES, VERSION_BYTES)
  return codec.decode(value, 0, value.length)
}
