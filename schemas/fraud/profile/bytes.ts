import { byteWriter } from '../../codec.ts'
import { avro } from '../../load.ts'
import type { FraudProfile } from '../types.ts'

/** Version of the format below. A profile in a different version is ignored until it is written again. */
const VERSION = 1

const VERSION_BYTES = 1
/** Schema id for profiles outside of Kafka, which are not registered with the schema registry. */
const NO_SCHEMA_ID = 0

const codec = avro('fraud/FraudProfile').open(NO_SCHEMA_ID, { get: () => undefined })
const writer = byteWriter()

/** Encodes a profile for stores outside of Kafka: a version byte and Avro. */
export function profileBytes(profile: FraudProfile): Buffer {
  writer.length = 0
  codec.encode(profile, writer)
  const bytes = Buffer.allocUnsafe(VERSION_BYTES + writer.length)
  bytes[0] = VERSION
  writer.buffer.copy(bytes, VERSION_BYTES, 0, writer.length)
  return bytes
}

/** @returns undefined for bytes of another version */
export function profileFromBytes(bytes: Buffer): FraudProfile | undefined {
  return bytes[0] === VERSION ? codec.decode(bytes, VERSION_BYTES, bytes.length) : undefined
}
