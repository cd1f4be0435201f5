import { byteWriter } from '../../codec.ts'
import { avro } from '../../load.ts'
import type { FraudProfile } from '../types.ts'
import { type PackedProfile, parseProfile } from './packed.ts'

/** Version of the format below. A profile in a different version of the format is ignored until it is written again. */
const VERSION = 1

const VERSION_BYTES = 1
/** Size of the header of Avro values. The magic byte and NO_SCHEMA_ID are both 0, so the whole header is 0. */
const HEADER_BYTES = 5
/** Size of an empty list of included transactions: a single zero byte. */
const EMPTY_BYTES = 1
/** Placeholder for a schema id, because profiles outside of Kafka do not use the schema registry. */
const NO_SCHEMA_ID = 0

const codec = avro('fraud/FraudProfile').open(NO_SCHEMA_ID, { get: () => undefined })
const writer = byteWriter()

/** Encodes a profile for Redis: a version byte, followed by Avro. */
export function profileBytes(profile: FraudProfile): Buffer {
  writer.length = 0
  codec.encode(profile, writer)
  const bytes = Buffer.allocUnsafe(VERSION_BYTES + writer.length)
  bytes[0] = VERSION
  writer.buffer.copy(bytes, VERSION_BYTES, 0, writer.length)
  return bytes
}

/**
 * Encodes a packed profile as `profileBytes` does, but without decoding it. The list of included transactions is left
 * empty.
 */
export function packedProfileBytes(packed: PackedProfile): Buffer {
  const { includedAt } = parseProfile(packed)
  const length = includedAt - packed.start
  const bytes = Buffer.alloc(VERSION_BYTES + HEADER_BYTES + length + EMPTY_BYTES)
  bytes[0] = VERSION
  packed.bytes.copy(bytes, VERSION_BYTES + HEADER_BYTES, packed.start, includedAt)
  return bytes
}

/**
 * Decodes a profile.
 * @returns undefined for bytes of another version
 */
export function profileFromBytes(bytes: Buffer): FraudProfile | undefined {
  return bytes[0] === VERSION ? codec.decode(bytes, VERSION_BYTES, bytes.length) : undefined
}
