import { crc32c } from '../../../kafka/record-batch/checksum.ts'
import type { SpoolFile } from './files.ts'

/** The first bytes of each segment. The digit is the version of the format. */
export const SEGMENT_HEADER = Buffer.from('MRSPOOL1')
/** Size of the prefix of a frame: length (u32) and CRC-32C (u32) of the body that follows, both little-endian. */
const PREFIX_BYTES = 8
/**
 * Maximum length of a body. A frame with a longer body must be damaged, because all records of the API are far smaller.
 */
const MAX_BODY_BYTES = 16 * 1_048_576
/** Number of bytes that the reader reads from the file at a time. */
const READ_BYTES = 256 * 1_024
const TOPIC = 1
const RECORD = 2
/**
 * Size of the fixed fields: kind, number of the topic, timestamp, length of the key, and 1 for a value or 0 for a
 * tombstone.
 */
const RECORD_FIELDS_BYTES = 1 + 2 + 8 + 4 + 1

/** A topic as a segment declares it. The declaration lets any process send the records of the topic. */
export interface SpooledTopic {
  readonly name: string
  /** The Avro schema as JSON; empty for raw values. */
  readonly schema: string
}

export interface SpooledRecord {
  readonly topic: SpooledTopic
  /** Epoch ms. */
  readonly timestamp: number
  readonly key: Buffer
  /**
   * The value in the wire format of the topic; null for a tombstone. The schema id in an Avro value is meaningless,
   * because it is set when the record is sent.
   */
  readonly value: Buffer | null
}

export function topicFrame(number: number, { name, schema }: SpooledTopic): Buffer {
  const nameBytes = Buffer.byteLength(name)
  const frame = Buffer.allocUnsafe(PREFIX_BYTES + 5 + nameBytes + Buffer.byteLength(schema))
  let at = frame.writeUInt8(TOPIC, PREFIX_BYTES)
  at = frame.writeUInt16LE(number, at)
  at = frame.writeUInt16LE(nameBytes, at)
  at += frame.write(name, at)
  frame.write(schema, at)
  return sealed(frame)
}

export function recordFrame(number: number, { timestamp, key, value }: Omit<SpooledRecord, 'topic'>): Buffer {
  const frame = Buffer.allocUnsafe(PREFIX_BYTES + RECORD_FIELDS_BYTES + key.length + (value?.length ?? 0))
  let at = frame.writeUInt8(RECORD, PREFIX_BYTES)
  at = frame.writeUInt16LE(number, at)
  at = frame.writeDoubleLE(timestamp, at)
  at = frame.writeUInt32LE(key.length, at)
  at = frame.writeUInt8(value === null ? 0 : 1, at)
  at += key.copy(frame, at)
  value?.copy(frame, at)
  return sealed(frame)
}

function sealed(frame: Buffer): Buffer {
  const body = frame.subarray(PREFIX_BYTES)
  frame.writeUInt32LE(body.length, 0)
  frame.writeUInt32LE(crc32c(body) >>> 0, 4)
  return frame
}

/** A record and its position in the segment. */
export interface FoundRecord {
  /** Position of the record's frame in the file. */
  readonly offset: number
  readonly record: SpooledRecord
}

/** Reads the records of a segment in order. */
export class FrameReader {
  readonly #file: SpoolFile
  readonly #topics = new Map<number, SpooledTopic>()
  #window: Buffer = Buffer.alloc(0)
  #windowAt = 0
  /** Position after the last whole frame. */
  position = SEGMENT_HEADER.length
  /** Number of skipped bytes: damaged frames before an intact frame, and records whose topic cannot be read. */
  skipped = 0

  constructor(file: SpoolFile) {
    this.#file = file
  }

  /**
   * Returns the next record before `end`. Returns undefined at the end, and at an incomplete or damaged frame that no
   * intact frame follows. A later call tries the same position again.
   */
  async next(end: number): Promise<FoundRecord | undefined> {
    for (;;) {
      const body = await this.#body(end)
      if (body === undefined) {
        if (!(await this.#skipDamaged(end))) return undefined
        continue
      }
      const offset = this.position
      this.position += PREFIX_BYTES + body.length
      const number = body.readUInt16LE(1)
      if (body[0] === TOPIC) {
        const nameEnd = 5 + body.readUInt16LE(3)
        this.#topics.set(number, { name: body.toString('utf8', 5, nameEnd), schema: body.toString('utf8', nameEnd) })
        continue
      }
      const topic = this.#topics.get(number)
      if (topic === undefined) {
        // The declaration of the topic was damaged, so the record cannot be read.
        this.skipped += this.position - offset
        continue
      }
      const keyEnd = RECORD_FIELDS_BYTES + body.readUInt32LE(11)
      const value = body[15] === 0 ? null : body.subarray(keyEnd)
      return { offset, record: { topic, timestamp: body.readDoubleLE(3), key: body.subarray(RECORD_FIELDS_BYTES, keyEnd), value } }
    }
  }

  /**
   * Returns whether the bytes from `position` to `end`, which contain no intact frame, look like the remains of a write
   * that a crash has cut off.
   */
  async isCutOff(end: number): Promise<boolean> {
    const length = await this.#length(end)
    if (length === undefined) return true
    if (length <= MAX_BODY_BYTES && this.position + PREFIX_BYTES + length > end) return true
    // Some file systems fill the end of a file with zeros after a loss of power, so zeros also count as cut off.
    const rest = await this.#bytes(end - this.position, end)
    return rest?.every((byte) => byte === 0) ?? false
  }

  /**
   * Moves to the next intact frame, if the lengths of the damaged frames lead to one. No other position is tried,
   * because a value may contain bytes that look like a frame.
   */
  async #skipDamaged(end: number): Promise<boolean> {
    const damagedAt = this.position
    for (;;) {
      const length = await this.#length(end)
      if (length === undefined || length === 0 || length > MAX_BODY_BYTES) break
      this.position += PREFIX_BYTES + length
      if ((await this.#body(end)) === undefined) continue
      this.skipped += this.position - damagedAt
      return true
    }
    this.position = damagedAt
    return false
  }

  async #length(end: number): Promise<number | undefined> {
    return (await this.#bytes(PREFIX_BYTES, end))?.readUInt32LE(0)
  }

  async #body(end: number): Promise<Buffer | undefined> {
    const prefix = await this.#bytes(PREFIX_BYTES, end)
    if (prefix === undefined) return undefined
    const length = prefix.readUInt32LE(0)
    if (length === 0 || length > MAX_BODY_BYTES) return undefined
    const frame = await this.#bytes(PREFIX_BYTES + length, end)
    const body = frame?.subarray(PREFIX_BYTES)
    return frame !== undefined && body !== undefined && crc32c(body) >>> 0 === frame.readUInt32LE(4) ? body : undefined
  }

  /** Returns the bytes from `position`; undefined if there are fewer than `count` bytes before `end`. */
  async #bytes(count: number, end: number): Promise<Buffer | undefined> {
    const { position } = this
    if (position + count > end) return undefined
    if (position < this.#windowAt || position + count > this.#windowAt + this.#window.length) {
      const wanted = Math.min(end - position, Math.max(READ_BYTES, count))
      const window = Buffer.allocUnsafe(wanted)
      const read = await this.#file.read(window, position)
      this.#window = window.subarray(0, read)
      this.#windowAt = position
      if (read < count) return undefined
    }
    const from = position - this.#windowAt
    return this.#window.subarray(from, from + count)
  }
}
