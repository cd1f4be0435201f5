import { cursor } from '../../../schemas/avro/cursor.ts'
import { readBlockCount, readInt, readInt64, readLength, readLong, skipLong } from '../../../schemas/avro/read.ts'
import type { PlainValues } from '../row-binary.ts'

/** The columns of an entry, in the order of the fields of `TrendEntry`. */
export const ENTRY_COLUMNS = [
  'term',
  'name',
  'tweet_volume',
  'volume_24h',
  'velocity',
  'velocity_vs_usual',
  'score',
  'label',
  'trending_since',
  'sample_ids',
  'users',
  'variants',
] as const

const DOUBLE_BYTES = 8
const NOT_NULL = 0
const NULL = 1
/** Index of the branch with the value, in the union of an optional field. */
const PRESENT = 1

/**
 * Copies an entry of a list from Avro to RowBinary. The sink writes tens of thousands of rows per minute. If it
 * inserted them as JSON, it would spend most of its time on encoding.
 * @param body valid Avro, which contains the entry from `start` to `end`
 */
export function writeEntry(body: Buffer, start: number, end: number, values: PlainValues): void {
  let at = copyText(body, start, end, values)
  at = copyText(body, at, end, values)
  at = copyLong(body, at, end, values)
  at = copyLong(body, at, end, values)
  for (let double = 0; double < 3; double++) {
    values.uint8(NOT_NULL)
    values.raw(body, at, at + DOUBLE_BYTES)
    at += DOUBLE_BYTES
  }
  at = copyLabel(body, at, end, values)
  at = copyLong(body, at, end, values)
  at = copySamples(body, at, end, values)
  at = skipOptionalInt(body, at, end)
  at = skipOptionalInt(body, at, end)
  at = skipOptionalText(body, at, end)
  at = copyOptionalLong(body, at, end, values)
  copyTexts(body, at, end, values)
}

/** Writes the columns of a rank without an entry. */
export function writeNoEntry(values: PlainValues): void {
  values.text('')
  values.text('')
  for (let column = 0; column < 5; column++) values.uint8(NULL)
  values.text('')
  values.uint8(NULL)
  values.length(0)
  values.uint8(NULL)
  values.length(0)
}

function copyText(body: Buffer, start: number, end: number, values: PlainValues): number {
  const length = readLength(body, start, end)
  const at = cursor.at
  values.textBytes(body, at, at + length)
  return at + length
}

function copyLong(body: Buffer, start: number, end: number, values: PlainValues): number {
  values.uint8(NOT_NULL)
  values.uint64(readLong(body, start, end))
  return cursor.at
}

function copyLabel(body: Buffer, start: number, end: number, values: PlainValues): number {
  if (readInt(body, start, end) === PRESENT) return copyText(body, cursor.at, end, values)
  values.text('')
  return cursor.at
}

function copySamples(body: Buffer, start: number, end: number, values: PlainValues): number {
  return copyItems(body, start, end, values, skipId, copyId)
}

function skipId(body: Buffer, at: number, end: number): number {
  skipLong(body, at, end)
  return cursor.at
}

function copyId(body: Buffer, at: number, end: number, values: PlainValues): number {
  values.int64(readInt64(body, at, end))
  return cursor.at
}

function copyOptionalLong(body: Buffer, start: number, end: number, values: PlainValues): number {
  if (readInt(body, start, end) === PRESENT) return copyLong(body, cursor.at, end, values)
  values.uint8(NULL)
  return cursor.at
}

function copyTexts(body: Buffer, start: number, end: number, values: PlainValues): void {
  copyItems(body, start, end, values, skipText, copyText)
}

function skipText(body: Buffer, at: number, end: number): number {
  return readLength(body, at, end) + cursor.at
}

function skipOptionalInt(body: Buffer, start: number, end: number): number {
  if (readInt(body, start, end) === PRESENT) readInt(body, cursor.at, end)
  return cursor.at
}

function skipOptionalText(body: Buffer, start: number, end: number): number {
  return readInt(body, start, end) === PRESENT ? skipText(body, cursor.at, end) : cursor.at
}

type Skip = (body: Buffer, start: number, end: number) => number
type Copy = (body: Buffer, start: number, end: number, values: PlainValues) => number

/**
 * Copies an array. In RowBinary, an array begins with the number of all items. An Avro array may have several blocks,
 * so the items of all blocks are counted first.
 * @returns the offset at which the array ends
 */
function copyItems(body: Buffer, start: number, end: number, values: PlainValues, skip: Skip, copy: Copy): number {
  let length = 0
  for (let block = readBlockCount(body, start, end, 1); block > 0; block = readBlockCount(body, cursor.at, end, 1)) {
    length += block
    let at = cursor.at
    for (let left = block; left > 0; left--) at = skip(body, at, end)
    cursor.at = at
  }
  values.length(length)
  let at = start
  for (let block = readBlockCount(body, at, end, 1); block > 0; block = readBlockCount(body, at, end, 1)) {
    at = cursor.at
    for (let left = block; left > 0; left--) at = copy(body, at, end, values)
  }
  return cursor.at
}
