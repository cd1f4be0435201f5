import {
  alignToByte,
  type BitReader,
  type BitWriter,
  MalformedPageError,
  readBits,
  readUnary,
  readVarint,
  writeBits,
  writeUnary,
  writeVarint,
} from './bits.ts'

/**
 * The format of a page of a seen-set. A reader must know the number of bits per fingerprint.
 *
 * | bytes | content |
 * |---|---|
 * | 1 | version of the format: 1; in a store, 2 marks the only page of a set |
 * | the rest | runs, newest first |
 *
 * A run contains the fingerprints of items that were last added within a short time. It begins at a whole byte:
 *
 * | part | content |
 * |---|---|
 * | varint | for the first run, its start; for a later run, how much earlier than the previous run it started |
 * | varint | number of fingerprints, at least 1 |
 * | bits | the fingerprints in ascending order, Golomb-Rice coded |
 *
 * Starts are in the units of the set's layout, since 1970. The first fingerprint is coded as itself, and every later
 * fingerprint as its distance from the previous one, minus 1. Such a number n is coded as ⌊n / 2^k⌋ ones and a zero,
 * followed by the lowest k bits of n. Here k is the number of bits of a fingerprint minus ⌈log2 of the number of
 * fingerprints⌉, and at least 0. A fingerprint thus takes about 1.5 bits more than its own length minus this logarithm
 * (Golomb, "Run-length encodings", 1966; Rice, "Some practical universal noiseless coding techniques", 1979).
 */
export interface Run {
  /** Time at which the run's first item was added, in units of the set's layout. */
  readonly start: number
  /** In ascending order, without duplicates. */
  readonly fingerprints: number[]
}

/** A page's runs, newest first. */
export type Page = Run[]

export const MAX_PAGE_BYTES = 512
/** Limits the rate of false positives; see `seenSetLayout`. */
export const MAX_PAGE_ENTRIES = 340

const VERSION = 1
const ONLY_PAGE_VERSION = 2
const BITS_PER_BYTE = 8
/**
 * Size of the buffer for encoding. It is also large enough for pages that exceed the maximum size: at most 340 runs of
 * 20 bytes.
 */
const SCRATCH_BYTES = 8_192
const scratch = Buffer.alloc(SCRATCH_BYTES)

/** @returns undefined when the page has too many fingerprints or bytes */
export function encodePage(page: Page, fingerprintBits: number): Buffer | undefined {
  if (entriesOf(page) > MAX_PAGE_ENTRIES) return undefined
  scratch.fill(0)
  scratch[0] = VERSION
  const writer: BitWriter = { bytes: scratch, at: BITS_PER_BYTE }
  let before: number | undefined
  for (const { start, fingerprints } of page) {
    writeVarint(writer, before === undefined ? start : before - start)
    writeVarint(writer, fingerprints.length)
    const low = lowBits(fingerprintBits, fingerprints.length)
    let next = 0
    for (const fingerprint of fingerprints) {
      const distance = fingerprint - next
      writeUnary(writer, Math.floor(distance / 2 ** low))
      writeBits(writer, distance, low)
      next = fingerprint + 1
    }
    before = start
  }
  alignToByte(writer)
  const length = writer.at / BITS_PER_BYTE
  return length > MAX_PAGE_BYTES ? undefined : Buffer.from(scratch.subarray(0, length))
}

/**
 * Marks a page as the only one of its set, so that readers do not look for further pages. Copies outside the store have
 * no mark.
 */
export function markAsOnly(bytes: Buffer): void {
  bytes[0] = ONLY_PAGE_VERSION
}

export function isOnlyPage(bytes: Uint8Array): boolean {
  return bytes[0] === ONLY_PAGE_VERSION
}

/** Returns the page without a mark: a copy if it has one, and otherwise the same bytes. */
export function withoutMark(bytes: Buffer): Buffer {
  if (!isOnlyPage(bytes)) return bytes
  const copy = Buffer.from(bytes)
  copy[0] = VERSION
  return copy
}

/** @throws MalformedPageError */
export function decodePage(bytes: Uint8Array, fingerprintBits: number): Page {
  if (bytes[0] !== VERSION && bytes[0] !== ONLY_PAGE_VERSION)
    throw new MalformedPageError(`the page has the unknown format version ${bytes[0]}`)
  const page: Page = []
  const reader: BitReader = { bytes, at: BITS_PER_BYTE }
  let before: number | undefined
  let entries = 0
  while (reader.at < bytes.length * BITS_PER_BYTE) {
    const distance = readVarint(reader)
    const start: number = before === undefined ? distance : before - distance
    const count = readVarint(reader)
    entries += count
    if (start < 0 || count < 1 || entries > MAX_PAGE_ENTRIES) throw new MalformedPageError('the page contains an invalid run')
    page.push({ start, fingerprints: readFingerprints(reader, count, lowBits(fingerprintBits, count)) })
    alignToByte(reader)
    before = start
  }
  return page
}

export function entriesOf(page: Page): number {
  return page.reduce((sum, { fingerprints }) => sum + fingerprints.length, 0)
}

function readFingerprints(reader: BitReader, count: number, low: number): number[] {
  const fingerprints: number[] = []
  const factor = 2 ** low
  let next = 0
  for (let i = 0; i < count; i++) {
    const fingerprint = next + readUnary(reader) * factor + readBits(reader, low)
    fingerprints.push(fingerprint)
    next = fingerprint + 1
  }
  return fingerprints
}

/**
 * Returns k: the number of a fingerprint's bits minus ⌈log2 count⌉, and at least 0. The mean distance is then between
 * 2^k and 2^(k+1).
 */
function lowBits(fingerprintBits: number, count: number): number {
  return Math.max(0, fingerprintBits - (32 - Math.clz32(count - 1)))
}
