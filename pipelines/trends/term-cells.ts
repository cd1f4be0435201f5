import { type ByteWriter, byteWriter, type Codec, CodecError } from '../../schemas/codec.ts'
import { copyBytes } from '../../schemas/copy-bytes.ts'
import { type ByteSpan, keyHash, rawValue } from '../engine/index.ts'
import type { TermCell } from './cells.ts'
import { CellReader, packCell, writeNumber, writeTextBytes } from './packed-cells.ts'

/**
 * Contributions that one task of the first stage has counted since its last commit, for terms of one partition of the
 * second stage.
 */
export interface TermCells {
  /**
   * The terms with their cells. The cells of a term may be divided between several records. The sender leaves the list
   * empty.
   */
  readonly terms: readonly CellsOfTerm[]
  /** The whole record as bytes. Only the sender sets this field, because the sender writes the record term by term. */
  readonly encoded?: Buffer
}

/** A term and its packed cells, which are parts of a record. Most terms are never needed as text. */
export class CellsOfTerm {
  readonly record: Buffer
  readonly termStart: number
  readonly termEnd: number
  /** The `keyHash` of the term. */
  readonly hash: number
  readonly start: number
  readonly end: number

  constructor(record: Buffer, termStart: number, termEnd: number, start: number, end: number) {
    this.record = record
    this.termStart = termStart
    this.termEnd = termEnd
    this.hash = keyHash(record, termStart, termEnd)
    this.start = start
    this.end = end
  }

  get term(): string {
    return this.record.toString('utf8', this.termStart, this.termEnd)
  }
}

/** Maximum size of an encoded number, in bytes. */
const MAX_NUMBER_BYTES = 5

/** Appends a term with its packed cells to the record in `out`. */
export function appendTerm(term: Readonly<ByteSpan>, { buffer, start, end }: Readonly<ByteSpan>, out: ByteWriter): void {
  writeTextBytes(term, out)
  out.reserve(MAX_NUMBER_BYTES + end - start)
  writeNumber(end - start, out)
  out.length = copyBytes(buffer, start, end, out.buffer, out.length)
}

/** Returns a copy of a term with other cells. */
export function withCells({ record, termStart, termEnd }: CellsOfTerm, cells: readonly TermCell[]): CellsOfTerm {
  const packed = byteWriter()
  for (const cell of cells) packCell(cell, packed)
  const length = termEnd - termStart
  const copy = Buffer.concat([record.subarray(termStart, termEnd), packed.buffer.subarray(0, packed.length)])
  return new CellsOfTerm(copy, 0, length, length, copy.length)
}

const codec: Codec<TermCells> = {
  encode({ encoded }, out) {
    if (encoded === undefined) throw new CodecError('a decoded record of cells cannot be encoded again')
    out.reserve(encoded.length)
    encoded.copy(out.buffer, out.length)
    out.length += encoded.length
  },
  decode(buffer, start, end) {
    const reader = new CellReader(buffer, start, end)
    const terms: CellsOfTerm[] = []
    while (!reader.atEnd) {
      const termLength = reader.number()
      const termStart = reader.skip(termLength)
      const length = reader.number()
      const first = reader.skip(length)
      terms.push(new CellsOfTerm(buffer, termStart, termStart + termLength, first, first + length))
    }
    return { terms }
  },
}

export const termCells = rawValue(codec)
