import { CONTINUES, cursor, LOW_7_BITS } from '../../avro/cursor.ts'
import { readDouble, readLong } from '../../avro/read.ts'
import { type ByteWriter, byteWriter, type Codec, CodecError } from '../../codec.ts'
import { copyBytes } from '../../copy-bytes.ts'
import { avro } from '../../load.ts'
import type { SchemaLookup, ValueFormat } from '../../topic.ts'
import type { FraudProfile } from '../types.ts'
import { NEW_PROFILE } from './fold.ts'

/**
 * A profile in the encoding of its Avro schema, without a header. Most transactions change a few bytes of a profile, so
 * the pipeline folds them into these bytes (packed-fold.ts) instead of decoding and encoding whole profiles.
 */
export interface PackedProfile {
  bytes: Buffer
  start: number
  end: number
}

/** Size of the header: the magic byte and the schema id. */
const HEADER_BYTES = 5
const MAGIC = 0
const DOUBLE_BYTES = 8

const format = avro('fraud/FraudProfile')
/** Placeholder for a schema id. It appears only in the header, which packed profiles do not have. */
const NO_SCHEMA_ID = 0
const own = format.open(NO_SCHEMA_ID, { get: () => undefined })
const writer = byteWriter()

/** The format of profiles in Kafka and in the store, for readers that need not decode them. */
export const packedProfiles = packedFormat((bytes, start, end): PackedProfile => {
  const packed = { bytes, start, end }
  parseProfile(packed)
  return packed
})

/**
 * Creates a format that leaves profiles encoded.
 * @param create creates the object for encoded bytes, which have not been checked
 */
export function packedFormat<P extends PackedProfile>(create: (bytes: Buffer, start: number, end: number) => P): ValueFormat<P> {
  return {
    schema: format.schema,
    open(schemaId: number, schemas: SchemaLookup): Codec<P> {
      const whole = format.open(schemaId, schemas)
      const header = Buffer.alloc(HEADER_BYTES, MAGIC)
      header.writeInt32BE(schemaId, 1)
      return {
        encode({ bytes, start, end }, out) {
          appendBytes(out, header, 0, HEADER_BYTES)
          appendBytes(out, bytes, start, end)
        },
        decode(buffer, start, end) {
          const isOwn = end - start >= HEADER_BYTES && buffer[start] === MAGIC && buffer.readInt32BE(start + 1) === schemaId
          if (!isOwn) {
            const packed = packProfile(whole.decode(buffer, start, end))
            return create(packed.bytes, packed.start, packed.end)
          }
          return create(buffer, start + HEADER_BYTES, end)
        },
      }
    },
  }
}

export function packProfile(profile: FraudProfile): PackedProfile {
  writer.length = 0
  own.encode(profile, writer)
  const bytes = Buffer.from(writer.buffer.subarray(HEADER_BYTES, writer.length))
  return { bytes, start: 0, end: bytes.length }
}

export function unpackProfile({ bytes, start, end }: PackedProfile): FraudProfile {
  return own.decode(Buffer.concat([OWN_HEADER, bytes.subarray(start, end)]), 0, HEADER_BYTES + end - start)
}

const OWN_HEADER = Buffer.alloc(HEADER_BYTES)

const NEW_BYTES = packProfile(NEW_PROFILE).bytes

/** Returns the profile of an entity about which nothing is known yet. */
export function newPacked(): PackedProfile {
  return { bytes: NEW_BYTES, start: 0, end: NEW_BYTES.length }
}

/** The columns of bytes, in the order in which the schema has them. */
export const EVENTS = 0
export const SUMS = 1
export const PLACES = 2
/** The first of five columns in the order of ENTITY_KINDS. */
export const SEEN = 3
const COLUMNS = 8

/** The numbers in a profile's bytes, and the positions of all other fields. */
export interface ProfileParts {
  txn_count: number
  txn_units: number
  mean_usd: number
  m2_usd: number
  first_seen: number
  newest_at: number
  /** Where the rows of each column begin and end. */
  readonly starts: Int32Array
  readonly ends: Int32Array
  /** Where the list of users begins, and where it ends and the tier begins. */
  usersAt: number
  tierAt: number
  fraud_count: number
  /** Where the last field, `included`, begins, and where the first row of this field begins. */
  includedAt: number
  includedRowsAt: number
}

const parts: ProfileParts = {
  txn_count: 0,
  txn_units: 0,
  mean_usd: 0,
  m2_usd: 0,
  first_seen: 0,
  newest_at: 0,
  starts: new Int32Array(COLUMNS),
  ends: new Int32Array(COLUMNS),
  usersAt: 0,
  tierAt: 0,
  fraud_count: 0,
  includedAt: 0,
  includedRowsAt: 0,
}

/**
 * Finds the fields of a profile, in the order of the schema.
 * @returns an object that the next call reuses
 * @throws CodecError if the bytes are not a profile
 */
export function parseProfile({ bytes, start, end }: PackedProfile): ProfileParts {
  cursor.at = start
  parts.txn_count = long(bytes, end)
  const doubles = advance(3 * DOUBLE_BYTES, end)
  parts.txn_units = readDouble(bytes, doubles)
  parts.mean_usd = readDouble(bytes, doubles + DOUBLE_BYTES)
  parts.m2_usd = readDouble(bytes, doubles + 2 * DOUBLE_BYTES)
  parts.first_seen = long(bytes, end)
  parts.newest_at = long(bytes, end)
  for (let column = 0; column < COLUMNS; column++) {
    const length = long(bytes, end)
    parts.starts[column] = advance(length, end)
    parts.ends[column] = cursor.at
  }
  parts.usersAt = cursor.at
  for (let count = long(bytes, end); count !== 0; count = long(bytes, end)) {
    for (; count > 0; count--) {
      advance(long(bytes, end), end)
      long(bytes, end)
    }
    if (count < 0) throw malformed('a list declares the sizes of its blocks, which is not supported')
  }
  parts.tierAt = cursor.at
  long(bytes, end)
  parts.fraud_count = long(bytes, end)
  parts.includedAt = cursor.at
  parts.includedRowsAt = advance(long(bytes, end), end)
  if (cursor.at !== end) throw malformed(`${end - cursor.at} bytes are left after the last field`)
  return parts
}

/** A double can represent the value of every varint of up to this many bytes exactly. */
const EXACT_VARINT_BYTES = 7

function long(bytes: Buffer, end: number): number {
  const { at } = cursor
  const bits = bytes[at]
  if (at < end && bits < CONTINUES) {
    cursor.at = at + 1
    return (bits >>> 1) ^ -(bits & 1)
  }
  if (at + EXACT_VARINT_BYTES <= end) {
    let sum = bits & LOW_7_BITS
    for (let next = at + 1, factor = CONTINUES; next < at + EXACT_VARINT_BYTES; next++, factor *= CONTINUES) {
      const byte = bytes[next]
      sum += (byte & LOW_7_BITS) * factor
      if (byte >= CONTINUES) continue
      cursor.at = next + 1
      return sum % 2 === 0 ? sum / 2 : -(sum + 1) / 2
    }
  }
  const value = readLong(bytes, at, end)
  if (cursor.at < 0) throw malformed(cursor.why)
  return value
}

/**
 * Skips bytes.
 * @returns the position of the first skipped byte
 */
function advance(length: number, end: number): number {
  const from = cursor.at
  if (!(length >= 0 && length <= end - from)) throw malformed('the bytes end inside a field')
  cursor.at = from + length
  return from
}

function malformed(why: string): CodecError {
  return new CodecError(`not a profile: ${why}`)
}

export function appendBytes(out: ByteWriter, bytes: Buffer, start: number, end: number): void {
  const length = end - start
  if (out.length + length > out.buffer.length) out.reserve(length)
  out.length = copyBytes(bytes, start, end, out.buffer, out.length)
}
