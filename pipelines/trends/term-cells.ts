import { type ByteWriter, type Codec, CodecError } from '../../schemas/codec.ts'
import { rawValue } from '../engine/index.ts'
import { CellReader, writeNumber, writeText } from './packed-cells.ts'

/** The counts of one worker since its last commit, for the terms of one partition. */
export interface TermCells {
  /**
   * The terms with their cells. A term with very many cells may occur in several records. The list is empty in the
   * record of a sender.
   */
  readonly terms: readonly CellsOfTerm[]
  /** The whole record as bytes. Only the sender sets it, because it writes the record term by term. */
  readonly encoded?: Buffer
}

export interface CellsOfTerm {
  readonly term: string
  /** The record that contains the packed cells. */
  readonly record: Buffer
  readonly start: number
  readonly end: number
}

/** The longest number of bytes. */
const MAX_NUMBER_BYTES = 5

/** Appends a term with its packed cells to the record in `out`. */
export function appendTerm(term: string, cells: ByteWriter, out: ByteWriter): void {
  writeText(term, out)
  out.reserve(MAX_NUMBER_BYTES + cells.length)
  writeNumber(cells.length, out)
  cells.buffer.copy(out.buffer, out.length, 0, cells.length)
  out.length += cells.length
}

const codec: Codec<TermCells> = {
  encode({ encoded }, out) {
    if (encoded === undefined) throw new CodecError('a record of cells is sent as the bytes that its sender has appended')
    out.reserve(encoded.length)
    encoded.copy(out.buffer, out.length)
    out.length += encoded.length
  },
  decode(buffer, start, end) {
    const reader = new CellReader(buffer, start, end)
    const terms: CellsOfTerm[] = []
    while (!reader.atEnd) {
      const term = reader.text()
      const length = reader.number()
      const first = reader.skip(length)
      terms.push({ term, record: buffer, start: first, end: first + length })
    }
    return { terms }
  },
}

export const termCells = rawValue(codec)
