import { type ByteWriter, CodecError } from '../../schemas/codec.ts'
import { copyBytes } from '../../schemas/copy-bytes.ts'
import type { TermForm } from '../../schemas/trends/types.ts'
import type { ByteSpan } from '../engine/index.ts'
import { addCell, type ByteContribution, type TermCell } from './cells.ts'
import { type DrawnTweets, NONE_DRAWN } from './drawn-tweets.ts'
import { regionsOf } from './regions-of.ts'
import { NO_REPEATS, type Repeat } from './repeats.ts'
import { readSample, SAMPLE_BYTES, type Samples, type SampleTweet, writeSample } from './samples.ts'

/**
 * The cells of a term as bytes, one after another. Most terms occur once, so nearly all cells are written once, copied
 * into a row and never read again. Creating objects for them would cost more than all other steps together. A place may
 * occur in several cells, so cells can be combined by appending them.
 *
 * A cell begins with its place. Then come five lists, each preceded by its length: the minutes with their counts, the
 * forms with their UTF-8 texts and counts, the samples, the repeats, and the bytes of the drawn tweets. Numbers are
 * unsigned LEB128.
 */
export type PackedCells = string

/**
 * In rows, cells are strings with one character per byte. If each of the many small rows had a Buffer, garbage
 * collection would cost more than all other work.
 */
const BYTES = 'latin1'
let scratch = Buffer.allocUnsafeSlow(4_096)

/** Returns a shared buffer. It contains the bytes of the cells until the next call. */
function bytesOf(cells: PackedCells): Buffer {
  if (scratch.length < cells.length) scratch = Buffer.allocUnsafeSlow(2 * cells.length)
  scratch.write(cells, 0, BYTES)
  return scratch
}

export function packedCells(buffer: Buffer, start: number, end: number): PackedCells {
  return buffer.toString(BYTES, start, end)
}

export function writePacked(cells: PackedCells, out: ByteWriter): void {
  out.reserve(cells.length)
  out.length += out.buffer.write(cells, out.length, BYTES)
}

export function unpackRow(cells: PackedCells): TermCell[] {
  return unpackCells(bytesOf(cells), 0, cells.length)
}

/** Number of values in a packed repeat. */
const REPEAT_NUMBERS = 4
/** Maximum size of an encoded number. Numbers have at most 32 bits. */
const MAX_NUMBER_BYTES = 5
/** Maximum number of UTF-8 bytes per UTF-16 code unit. */
const BYTES_PER_UNIT = 3
const MORE = 0x80
const LOW_BITS = 0x7f
const BITS = 7

export function packCell(cell: TermCell, out: ByteWriter): void {
  const { place, minutes, counts, forms, samples, repeats, drawn } = cell
  out.reserve(MAX_NUMBER_BYTES * (4 + 2 * minutes.length))
  writeNumber(place, out)
  writeNumber(minutes.length, out)
  for (let i = 0; i < minutes.length; i++) {
    writeNumber(minutes[i], out)
    writeNumber(counts[i], out)
  }
  writeNumber(forms.length, out)
  for (const { form, count } of forms) {
    writeText(form, out)
    out.reserve(MAX_NUMBER_BYTES)
    writeNumber(count, out)
  }
  out.reserve(MAX_NUMBER_BYTES + samples.length)
  writeNumber(samples.length / SAMPLE_BYTES, out)
  samples.copy(out.buffer, out.length)
  out.length += samples.length
  writeRepeats(repeats, out)
  out.reserve(MAX_NUMBER_BYTES + drawn.length)
  writeNumber(drawn.length, out)
  drawn.copy(out.buffer, out.length)
  out.length += drawn.length
}

/** Packs one contribution. The bytes are the same as those of `packCell` for a cell with only this contribution. */
export function packContribution({ place, original, minute, tweet, repeats }: ByteContribution, out: ByteWriter): void {
  out.reserve(MAX_NUMBER_BYTES * 4)
  writeNumber(place, out)
  writeNumber(1, out)
  writeNumber(minute, out)
  writeNumber(1, out)
  writeNumber(1, out)
  writeTextBytes(original, out)
  out.reserve(2 + SAMPLE_BYTES)
  writeNumber(1, out)
  writeNumber(1, out)
  writeSample(tweet, out)
  writeRepeats(repeats, out)
  out.reserve(1)
  writeNumber(0, out)
}

function writeRepeats(repeats: readonly Repeat[], out: ByteWriter): void {
  out.reserve(MAX_NUMBER_BYTES * (1 + REPEAT_NUMBERS * repeats.length))
  writeNumber(repeats.length, out)
  for (const { earlier, later, count, levels } of repeats) {
    writeNumber(earlier, out)
    writeNumber(later - earlier, out)
    // The lowest bit is the sign.
    writeNumber(count < 0 ? -2 * count + 1 : 2 * count, out)
    writeNumber(levels, out)
  }
}

function writeText(text: string, out: ByteWriter): void {
  out.reserve(MAX_NUMBER_BYTES + text.length * BYTES_PER_UNIT)
  const { buffer, length } = out
  // Most texts are ASCII and short, so the text is first written with one byte reserved for its length.
  const bytes = buffer.write(text, length + 1)
  if (bytes < MORE) {
    buffer[length] = bytes
    out.length = length + 1 + bytes
    return
  }
  writeNumber(bytes, out)
  out.length += buffer.write(text, out.length)
}

export function writeTextBytes({ buffer, start, end }: Readonly<ByteSpan>, out: ByteWriter): void {
  out.reserve(MAX_NUMBER_BYTES + end - start)
  writeNumber(end - start, out)
  out.length = copyBytes(buffer, start, end, out.buffer, out.length)
}

/** Writes a number as LEB128. The caller must have reserved enough bytes. */
export function writeNumber(number: number, out: ByteWriter): void {
  const { buffer } = out
  let rest = number
  while (rest >= MORE) {
    buffer[out.length++] = (rest & LOW_BITS) | MORE
    rest >>>= BITS
  }
  buffer[out.length++] = rest
}

export class CellReader {
  #bytes: Buffer
  #end: number
  at: number

  constructor(bytes: Buffer, start: number, end: number) {
    this.#bytes = bytes
    this.#end = end
    this.at = start
  }

  /** Continues with other bytes. */
  switchTo(bytes: Buffer, start: number, end: number): void {
    this.#bytes = bytes
    this.#end = end
    this.at = start
  }

  get atEnd(): boolean {
    return this.at >= this.#end
  }

  number(): number {
    let number = 0
    for (let shift = 0; shift < MAX_NUMBER_BYTES * BITS; shift += BITS) {
      if (this.at >= this.#end) throw new CodecError('packed cells are truncated')
      const byte = this.#bytes[this.at++]
      number |= (byte & LOW_BITS) << shift
      if (byte < MORE) return number >>> 0
    }
    throw new CodecError('a number in packed cells is too long')
  }

  text(): string {
    const length = this.number()
    const start = this.skip(length)
    return this.#bytes.toString('utf8', start, start + length)
  }

  /**
   * Skips bytes.
   * @returns the position of the first skipped byte
   */
  skip(bytes: number): number {
    const start = this.at
    if (start + bytes > this.#end) throw new CodecError('packed cells are truncated')
    this.at = start + bytes
    return start
  }

  sample(): SampleTweet {
    return readSample(this.#bytes, this.skip(SAMPLE_BYTES))
  }

  /** Returns a copy of the samples. */
  samples(): Samples {
    return this.#copy(this.number() * SAMPLE_BYTES)
  }

  skipSamples(): void {
    this.skip(this.number() * SAMPLE_BYTES)
  }

  repeats(): readonly Repeat[] {
    const length = this.number()
    return length === 0 ? NO_REPEATS : Array.from({ length }, () => this.#repeat())
  }

  #repeat(): Repeat {
    const earlier = this.number()
    const later = earlier + this.number()
    const signed = this.number()
    return { earlier, later, count: signed % 2 === 0 ? signed / 2 : (1 - signed) / 2, levels: this.number() }
  }

  drawn(): DrawnTweets {
    const length = this.number()
    return length === 0 ? NONE_DRAWN : this.#copy(length)
  }

  #copy(length: number): Buffer {
    const start = this.skip(length)
    const copy = Buffer.allocUnsafe(length)
    this.#bytes.copy(copy, 0, start, start + length)
    return copy
  }

  skipRepeats(): void {
    for (let left = this.number() * REPEAT_NUMBERS; left > 0; left--) this.number()
  }
}

/** Decodes packed cells, and combines the cells of each place. */
export function unpackCells(bytes: Buffer, start: number, end: number): TermCell[] {
  const reader = new CellReader(bytes, start, end)
  const cells: TermCell[] = []
  while (!reader.atEnd) {
    const cell = unpackCell(reader)
    const same = cells.find((each) => each.place === cell.place)
    if (same === undefined) cells.push(cell)
    else addCell(same, cell)
  }
  return cells
}

function unpackCell(reader: CellReader): TermCell {
  const place = reader.number()
  const ofMinutes = reader.number()
  // Most arrays have one element. An array that grows by `push` would reserve memory for 17 elements.
  const minutes = new Array<number>(ofMinutes)
  const counts = new Array<number>(ofMinutes)
  for (let i = 0; i < ofMinutes; i++) {
    minutes[i] = reader.number()
    counts[i] = reader.number()
  }
  const forms = new Array<TermForm>(reader.number())
  for (let i = 0; i < forms.length; i++) forms[i] = { form: reader.text(), count: reader.number() }
  return { place, minutes, counts, forms, samples: reader.samples(), repeats: reader.repeats(), drawn: reader.drawn() }
}

/** Reads the counts of packed cells without their texts and samples. One object is reused for many reads. */
export class CellCounts {
  length = 0
  /** Number of cells. A cell has a count for each of its minutes. */
  cells = 0
  readonly places: number[] = []
  readonly minutes: number[] = []
  readonly counts: number[] = []
  readonly #reader = new CellReader(Buffer.alloc(0), 0, 0)

  readRow(cells: PackedCells): this {
    return this.read(bytesOf(cells), 0, cells.length)
  }

  read(bytes: Buffer, start: number, end: number): this {
    this.length = 0
    this.cells = 0
    return this.readMore(bytes, start, end)
  }

  /** Adds the counts of further cells. */
  readMore(bytes: Buffer, start: number, end: number): this {
    const reader = this.#reader
    reader.switchTo(bytes, start, end)
    let { length } = this
    while (!reader.atEnd) {
      this.cells++
      const place = reader.number()
      for (let left = reader.number(); left > 0; left--) {
        this.places[length] = place
        this.minutes[length] = reader.number()
        this.counts[length++] = reader.number()
      }
      for (let left = reader.number(); left > 0; left--) {
        reader.skip(reader.number())
        reader.number()
      }
      reader.skipSamples()
      reader.skipRepeats()
      reader.skip(reader.number())
    }
    this.length = length
    return this
  }

  /** Returns the newest minute; 0 if there is none. */
  get newest(): number {
    let newest = 0
    for (let i = 0; i < this.length; i++) if (this.minutes[i] > newest) newest = this.minutes[i]
    return newest
  }

  /** Returns the oldest minute; Infinity if there is none. */
  get oldest(): number {
    let oldest = Infinity
    for (let i = 0; i < this.length; i++) if (this.minutes[i] < oldest) oldest = this.minutes[i]
    return oldest
  }

  /** Returns the number of different places. It is the number of cells when the cells of each place are combined. */
  get distinctPlaces(): number {
    let distinct = 0
    for (let i = 0; i < this.length; i++) if (this.places.indexOf(this.places[i]) === i) distinct++
    return distinct
  }

  /** Returns true if there are contributions in a region. */
  countsIn(woeid: number): boolean {
    for (let i = 0; i < this.length; i++) if (regionsOf(this.places[i]).includes(woeid)) return true
    return false
  }

  /** Returns the woeids of the regions in which the contributions are counted. */
  regions(): readonly number[] {
    if (this.#isOfOnePlace()) return this.length === 0 ? [] : regionsOf(this.places[0])
    const regions = [...regionsOf(this.places[0])]
    for (let i = 1; i < this.length; i++) {
      if (this.places[i] === this.places[i - 1]) continue
      for (const woeid of regionsOf(this.places[i])) if (!regions.includes(woeid)) regions.push(woeid)
    }
    return regions
  }

  /** Returns the number of contributions in a region, from minute `from` to `to`, both inclusive. */
  sumIn(woeid: number, from: number, to: number): number {
    let sum = 0
    for (let i = 0; i < this.length; i++) {
      if (this.minutes[i] >= from && this.minutes[i] <= to && regionsOf(this.places[i]).includes(woeid)) sum += this.counts[i]
    }
    return sum
  }

  #isOfOnePlace(): boolean {
    for (let i = 1; i < this.length; i++) if (this.places[i] !== this.places[0]) return false
    return true
  }
}
