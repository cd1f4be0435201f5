import { isUtf8 } from 'node:buffer'
import { bodyReader } from '../../../schemas/avro/body-reader.ts'
import { ASCII_END, cursor } from '../../../schemas/avro/cursor.ts'
import { lastBlockEnd, readBlockCount, readInt, readLength, readLong, readString } from '../../../schemas/avro/read.ts'
import { CodecError } from '../../../schemas/codec.ts'
import type { ValueFormat } from '../../../schemas/topic.ts'
import type { TrendRareVolumes } from '../../../schemas/trends/types.ts'

/** Minimum size of a row: the length of its term, its minute, and the ends of its two arrays. */
const LEAST_ROW_BYTES = 4

/** The current row. One object is reused for all rows. */
export interface RareVolumeRow {
  /** Start of the term's bytes in `RareVolumeBytes.buffer`. */
  termStart: number
  termEnd: number
  /** Start of the minute, epoch ms. */
  minute: number
  readonly woeids: number[]
  readonly volumes: number[]
}

/** A `TrendRareVolumes` whose rows stay encoded as Avro until they are visited. The constructor checks the bytes. */
export class RareVolumeBytes {
  readonly buffer: Buffer
  readonly addsAs: string
  /** The minute of the first row, epoch ms; 0 if there are no rows. */
  readonly firstMinute: number
  readonly #start: number
  readonly #end: number

  /** @throws CodecError if the bytes are not a `TrendRareVolumes` */
  constructor(buffer: Buffer, start: number, end: number) {
    this.buffer = buffer
    this.addsAs = checked(readString(buffer, start, end))
    this.#start = cursor.at
    this.#end = end
    let first = 0
    let rows = 0
    this.eachRow((row) => {
      if (rows++ === 0) first = row.minute
      checkRow(buffer, row)
    })
    if (cursor.at !== end) throw new CodecError(`TrendRareVolumes: ${end - cursor.at} bytes are left after the value`)
    this.firstMinute = first
  }

  /** @param visit must not keep the row */
  eachRow(visit: (row: RareVolumeRow) => void): void {
    const { buffer } = this
    const end = this.#end
    let at = this.#start
    for (;;) {
      const count = checked(readBlockCount(buffer, at, end, LEAST_ROW_BYTES))
      at = cursor.at
      if (count === 0) return
      const until = lastBlockEnd()
      for (let left = count; left > 0; left--) {
        const length = checked(readLength(buffer, at, end))
        row.termStart = cursor.at
        row.termEnd = row.termStart + length
        row.minute = checked(readLong(buffer, row.termEnd, end))
        readInts(buffer, cursor.at, end, row.woeids)
        readInts(buffer, cursor.at, end, row.volumes)
        at = cursor.at
        visit(row)
        cursor.at = at
      }
      if (until >= 0 && at !== until) throw new CodecError('TrendRareVolumes.rows: a block does not have its declared size')
    }
  }
}

const row: RareVolumeRow = { termStart: 0, termEnd: 0, minute: 0, woeids: [], volumes: [] }

function readInts(buffer: Buffer, start: number, end: number, into: number[]): void {
  into.length = 0
  let at = start
  for (;;) {
    const count = checked(readBlockCount(buffer, at, end, 1))
    at = cursor.at
    if (count === 0) return
    const until = lastBlockEnd()
    for (let left = count; left > 0; left--) {
      into.push(checked(readInt(buffer, at, end)))
      at = cursor.at
    }
    if (until >= 0 && at !== until) throw new CodecError('TrendRareVolumes.rows: a block does not have its declared size')
  }
}

function checkRow(buffer: Buffer, { termStart, termEnd, woeids, volumes }: RareVolumeRow): void {
  for (let at = termStart; at < termEnd; at++) {
    if (buffer[at] < ASCII_END) continue
    if (!isUtf8(buffer.subarray(termStart, termEnd))) throw new CodecError('TrendRareVolumes.rows.term: the string is not valid UTF-8')
    break
  }
  if (woeids.length !== volumes.length) throw new CodecError('TrendRareVolumes.rows: the numbers of woeids and volumes differ')
  for (const volume of volumes) if (volume < 0) throw new CodecError('TrendRareVolumes.rows: a volume is negative')
}

/** Returns the value that was read. Throws CodecError if the value was malformed. */
function checked<T>(value: T): T {
  if (cursor.at < 0) throw new CodecError(`TrendRareVolumes: ${cursor.why}`)
  return value
}

/** Returns the format `whole` with a decoder that leaves the rows encoded instead of creating objects. */
export function rareVolumeBytes(whole: ValueFormat<TrendRareVolumes>): ValueFormat<RareVolumeBytes> {
  return bodyReader(whole, (buffer, start, end) => new RareVolumeBytes(buffer, start, end))
}
