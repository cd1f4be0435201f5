import { byteWriter } from '../../schemas/codec.ts'
import { copyBytes } from '../../schemas/copy-bytes.ts'
import type { TrendRareVolume, TrendRareVolumes } from '../../schemas/trends/types.ts'
import { type Context, EncodedBody, type Topic } from '../engine/index.ts'
import { type CellCounts, writeNumber } from './packed-cells.ts'
import { regionsOf } from './regions-of.ts'
import type { CellsOfTerm } from './term-cells.ts'
import { MINUTE_MS } from './time.ts'

/**
 * Maximum number of rows per record. With the longest terms, this many rows take 700 KB, less than what brokers accept.
 */
const MAX_ROWS = 1_000
/**
 * Upper bound for the size of a record with added rows. Brokers accept twice as much. A row of a popular term has all
 * regions, so far fewer than `MAX_ROWS` of these rows fit into a record.
 */
const MAX_ADDED_BYTES = 524_288
/** Maximum size of an encoded 32-bit number. */
const MAX_NUMBER_BYTES = 5
/** Upper bound for the size of a time. In milliseconds and zigzag-encoded, it has six bytes until 2039, then seven. */
const MAX_TIME_BYTES = 8
/** Maximum number of UTF-8 bytes per UTF-16 code unit. */
const BYTES_PER_UNIT = 3
const MORE = 0x80

/**
 * Publishes the volumes of rare terms when they change. A record has many rows, and a row has a term's volumes in all
 * regions in one minute. Rows are written directly as Avro, without objects.
 */
export function rareVolumes(topic: Topic<number, TrendRareVolumes | EncodedBody>) {
  const rows = byteWriter()
  const body = byteWriter()
  /** The volumes of the current row. The arrays keep their memory, so only the first `regions` elements are valid. */
  const woeids: number[] = []
  const volumes: number[] = []
  let regions = 0
  let count = 0
  let month = 0
  let minuteOfMonth = 0

  /**
   * Adds a row for each changed minute of a term.
   * @param all all counts of the term
   * @param changed the counts whose minutes have changed
   */
  function add(term: CellsOfTerm, all: CellCounts, changed: CellCounts, ctx: Context): void {
    for (let i = 0; i < changed.length; i++) {
      const minute = changed.minutes[i]
      if (changed.minutes.indexOf(minute) !== i) continue
      startRow(minute, ctx)
      sumByRegion(all, minute)
      writeRow(term, minute)
    }
  }

  /**
   * Begins a row. First sends the collected rows if there are `MAX_ROWS` of them, or if they are from a different
   * month. A record has rows of one month only, because the tables are partitioned by month.
   */
  function startRow(minute: number, ctx: Context): void {
    if (minute !== minuteOfMonth) {
      const ofRow = monthOf(minute * MINUTE_MS)
      if (ofRow !== month) send(ctx)
      month = ofRow
      minuteOfMonth = minute
    }
    if (count === MAX_ROWS) send(ctx)
    count++
  }

  function sumByRegion({ length, places, minutes, counts }: CellCounts, minute: number): void {
    regions = 0
    for (let i = 0; i < length; i++) {
      if (minutes[i] !== minute) continue
      for (const woeid of regionsOf(places[i])) {
        let place = 0
        while (place < regions && woeids[place] !== woeid) place++
        if (place < regions) {
          volumes[place] += counts[i]
          continue
        }
        woeids[regions] = woeid
        volumes[regions++] = counts[i]
      }
    }
  }

  function writeRow({ record, termStart, termEnd }: CellsOfTerm, minute: number): void {
    const length = termEnd - termStart
    rows.reserve(length + MAX_TIME_BYTES + MAX_NUMBER_BYTES * (5 + 2 * regions))
    writeZigzag(length)
    rows.length = copyBytes(record, termStart, termEnd, rows.buffer, rows.length)
    let time = 2 * minute * MINUTE_MS
    for (; time >= MORE; time = Math.floor(time / MORE)) rows.buffer[rows.length++] = (time % MORE) + MORE
    rows.buffer[rows.length++] = time
    writeArray(woeids)
    writeArray(volumes)
  }

  /** Writes an array as a single Avro block, followed by the end of the array. */
  function writeArray(numbers: readonly number[]): void {
    writeZigzag(regions)
    for (let i = 0; i < regions; i++) writeZigzag(numbers[i])
    rows.buffer[rows.length++] = 0
  }

  function writeZigzag(number: number): void {
    writeNumber(2 * number, rows)
  }

  function send(ctx: Context): void {
    if (count === 0) return
    body.length = 0
    body.reserve(2 + MAX_NUMBER_BYTES + rows.length)
    // Writes an empty `adds_as` and the number of rows.
    body.buffer[body.length++] = 0
    writeNumber(2 * count, body)
    rows.buffer.copy(body.buffer, body.length, 0, rows.length)
    body.length += rows.length
    body.buffer[body.length++] = 0
    ctx.emit(topic, ctx.partition, new EncodedBody(body))
    rows.length = 0
    count = 0
  }

  /**
   * Publishes counts for minutes that have already left the states of the terms. The earlier volumes of these minutes
   * are unknown here, so readers add the counts to the earlier volumes.
   * @param id differs for each call, even after a restart
   */
  function sendAdded(added: AddedVolumes, id: string, ctx: Context): void {
    for (const rows of Map.groupBy(added.rows(), ({ minute }) => monthOf(minute)).values()) {
      let from = 0
      let bytes = 0
      for (const [at, row] of rows.entries()) {
        const size = greatestSizeOf(row)
        if (bytes + size > MAX_ADDED_BYTES && at > from) {
          ctx.emit(topic, ctx.partition, { adds_as: id, rows: rows.slice(from, at) })
          from = at
          bytes = 0
        }
        bytes += size
      }
      ctx.emit(topic, ctx.partition, { adds_as: id, rows: rows.slice(from) })
    }
  }

  return { add, send, sendAdded }
}

/** Returns an upper bound for the size of an encoded row. */
function greatestSizeOf({ term, woeids }: TrendRareVolume): number {
  return BYTES_PER_UNIT * term.length + MAX_TIME_BYTES + MAX_NUMBER_BYTES * (5 + 2 * woeids.length)
}

function monthOf(time: number): number {
  const date = new Date(time)
  return date.getUTCFullYear() * 12 + date.getUTCMonth()
}

/** Collects counts that a record adds to earlier volumes, by term and minute. */
export function addedVolumes() {
  const byTermAndMinute = new Map<string, TrendRareVolume>()

  function add(term: string, woeid: number, minute: number, count: number): void {
    const key = `${minute}:${term}`
    const row = byTermAndMinute.get(key) ?? { term, minute: minute * MINUTE_MS, woeids: [], volumes: [] }
    byTermAndMinute.set(key, row)
    const place = row.woeids.indexOf(woeid)
    if (place >= 0) {
      row.volumes[place] += count
      return
    }
    row.woeids.push(woeid)
    row.volumes.push(count)
  }

  return { add, rows: () => byTermAndMinute.values() }
}

export type AddedVolumes = ReturnType<typeof addedVolumes>
