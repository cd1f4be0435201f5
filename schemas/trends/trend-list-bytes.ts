import { isUtf8 } from 'node:buffer'
import { bodyReader } from '../avro/body-reader.ts'
import { ASCII_END, CONTINUES, cursor } from '../avro/cursor.ts'
import { compileDecoder, type Decode } from '../avro/decoder.ts'
import { lastBlockEnd, readBlockCount, readInt, readLength, readLong, skipLong } from '../avro/read.ts'
import { HEADER_BYTES } from '../avro/value.ts'
import { byteWriter, CodecError } from '../codec.ts'
import { loadSchema } from '../load.ts'
import type { AvroSchema, ValueFormat } from '../topic.ts'
import { trendOutput } from './topics.ts'
import type { TrendEntry, TrendOutput } from './types.ts'

/**
 * Minimum size of an entry: five numbers or texts of one byte each, three doubles, and nine empty lists or absent
 * values.
 */
const LEAST_ENTRY_BYTES = 38
const DOUBLES_BYTES = 24
/** Varints of up to this many bytes always fit into an int, a safe integer and a 64-bit integer, respectively. */
const SURE_INT_BYTES = 4
const SAFE_LONG_BYTES = 7
const SURE_INT64_BYTES = 9
const SOURCES: readonly TrendOutput['source'][] = ['pipeline', 'endpoint']

/**
 * A `TrendOutput` whose entries stay encoded until they are needed. Sinks write hundreds of entries of each list twice
 * a minute, but need only the best of them as objects. The constructor checks all bytes.
 */
export class TrendListBytes {
  readonly woeid: number
  /** Epoch ms. */
  readonly window_end: number
  readonly source: TrendOutput['source']
  readonly missing_partitions: number
  /** The whole list as Avro. */
  readonly body: Buffer
  /** Where each entry begins and ends. Entries of different blocks are not next to each other. */
  readonly #starts: number[] = []
  readonly #ends: number[] = []

  /**
   * Finds the entries in the bytes of a list.
   * @throws CodecError if the bytes are not a `TrendOutput`
   */
  constructor(buffer: Buffer, start: number, end: number) {
    this.body = buffer.subarray(start, end)
    const { body } = this
    const { length } = body
    this.woeid = checked(readInt(body, 0, length), 'woeid')
    this.window_end = checked(readLong(body, cursor.at, length), 'window_end')
    const source = SOURCES[checked(readInt(body, cursor.at, length), 'source')]
    if (source === undefined) throw malformed('source', 'there is no such symbol')
    this.source = source
    this.missing_partitions = checked(readInt(body, cursor.at, length), 'missing_partitions')
    const rest = this.#findEntries(cursor.at)
    if (rest !== length) throw new CodecError(`TrendOutput: ${length - rest} bytes are left after the value`)
  }

  /**
   * Finds where each entry begins and ends.
   * @returns the offset at which the array of entries ends
   */
  #findEntries(start: number): number {
    const { body } = this
    let at = start
    for (;;) {
      const count = checked(readBlockCount(body, at, body.length, LEAST_ENTRY_BYTES), 'entries')
      at = cursor.at
      if (count === 0) return at
      const until = lastBlockEnd()
      for (let left = count; left > 0; left--) {
        this.#starts.push(at)
        at = skipEntry(body, at)
        this.#ends.push(at)
      }
      if (until >= 0 && at !== until) throw malformed('entries', 'a block does not have its declared size')
    }
  }

  get length(): number {
    return this.#starts.length
  }

  /** Visits at most `count` entries, best first. Each entry is the Avro in `body` from `start` to `end`. */
  eachOf(count: number, visit: (start: number, end: number, rank: number) => void): void {
    for (let i = 0; i < Math.min(count, this.length); i++) visit(this.#starts[i], this.#ends[i], i + 1)
  }

  /** Returns the best entries, at most `count`. */
  first(count: number): TrendEntry[] {
    decodeEntry ??= compileDecoder<TrendEntry>(entrySchema())
    const entries: TrendEntry[] = []
    for (let i = 0; i < Math.min(count, this.length); i++) entries.push(decodeEntry(this.body, this.#starts[i], this.#ends[i]))
    return entries
  }
}

/** Compiled on first use. */
let decodeEntry: Decode<TrendEntry> | undefined

function entrySchema(): AvroSchema {
  const { fields } = loadSchema('trends/TrendOutput') as { readonly fields: readonly { readonly name: string; readonly type: unknown }[] }
  return (fields.find(({ name }) => name === 'entries')!.type as { readonly items: AvroSchema }).items
}

/**
 * Skips an entry. Its fields are in the order of the schema.
 * @returns where the entry ends
 */
function skipEntry(body: Buffer, start: number): number {
  let at = skipText(body, start, 'term')
  at = skipText(body, at, 'name')
  at = skipNumber(body, at, 'tweet_volume')
  at = skipNumber(body, at, 'volume_24h')
  if (body.length - at < DOUBLES_BYTES) throw malformed('velocity', 'the bytes end inside the value')
  at = skipOptional(body, at + DOUBLES_BYTES, 'label', skipText)
  at = skipNumber(body, at, 'trending_since')
  at = skipArray(body, at, 'sample_tweets', skipId)
  at = skipOptional(body, at, 'rank_change', skipInt)
  at = skipOptional(body, at, 'peak_rank', skipInt)
  at = skipOptional(body, at, 'lang', skipText)
  at = skipOptional(body, at, 'users', skipNumber)
  at = skipArray(body, at, 'variants', skipText)
  at = skipArray(body, at, 'related', skipText)
  return skipOptional(body, at, 'typical_tweet', skipId)
}

type Skip = (body: Buffer, at: number, field: string) => number

function skipText(body: Buffer, at: number, field: string): number {
  const length = checked(readLength(body, at, body.length), field)
  const start = cursor.at
  const end = start + length
  let bits = 0
  for (let i = start; i < end; i++) bits |= body[i]
  if (bits >= ASCII_END && !isUtf8(body.subarray(start, end))) throw malformed(field, 'the string is not valid UTF-8')
  return end
}

function skipNumber(body: Buffer, at: number, field: string): number {
  const end = varintEnd(body, at)
  if (end - at <= SAFE_LONG_BYTES && end <= body.length) return end
  checked(readLong(body, at, body.length), field)
  return cursor.at
}

function skipInt(body: Buffer, at: number, field: string): number {
  const end = varintEnd(body, at)
  if (end - at <= SURE_INT_BYTES && end <= body.length) return end
  checked(readInt(body, at, body.length), field)
  return cursor.at
}

function skipId(body: Buffer, at: number, field: string): number {
  const end = varintEnd(body, at)
  if (end - at <= SURE_INT64_BYTES && end <= body.length) return end
  skipLong(body, at, body.length)
  return checked(cursor.at, field)
}

/** Returns where a varint ends. If the bytes end within it, the result is greater than their length. */
function varintEnd(body: Buffer, at: number): number {
  let last = at
  while (last < body.length && body[last] >= CONTINUES) last++
  return last + 1
}

/** Skips a union of null and another type. */
function skipOptional(body: Buffer, at: number, field: string, skip: Skip): number {
  const branch = checked(readInt(body, at, body.length), field)
  if (branch === 0) return cursor.at
  if (branch === 1) return skip(body, cursor.at, field)
  throw malformed(field, `the union has no branch with index ${branch} (size: 2)`)
}

/**
 * Skips an array.
 * @returns the offset at which the array ends
 */
function skipArray(body: Buffer, start: number, field: string, skip: Skip): number {
  let at = start
  // Most arrays are empty.
  while (body[at] !== 0) {
    const count = checked(readBlockCount(body, at, body.length, 1), field)
    at = cursor.at
    if (count === 0) return at
    const until = lastBlockEnd()
    for (let left = count; left > 0; left--) at = skip(body, at, field)
    if (until >= 0 && at !== until) throw malformed(field, 'a block does not have its declared size')
  }
  return at + 1
}

/** Returns the value that was read. Throws CodecError if the value was malformed. */
function checked<T>(value: T, field: string): T {
  if (cursor.at < 0) throw malformed(field, cursor.why)
  return value
}

function malformed(field: string, why: string): CodecError {
  return new CodecError(`TrendOutput.${field}: ${why}`)
}

/** Returns `whole` with a decoder that leaves the entries encoded. */
export function trendListBytes(whole: ValueFormat<TrendOutput>): ValueFormat<TrendListBytes> {
  return bodyReader(whole, (buffer, start, end) => new TrendListBytes(buffer, start, end))
}

/** Encodes a list. */
export function listBytesOf(list: TrendOutput): TrendListBytes {
  const out = byteWriter()
  trendOutput.value.open(0, { get: () => undefined }).encode(list, out)
  return new TrendListBytes(out.buffer, HEADER_BYTES, out.length)
}
