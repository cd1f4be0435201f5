import { byteWriter, type Codec } from '../../schemas/codec.ts'
import type { TermState } from '../../schemas/trends/types.ts'
import { rawValue } from '../engine/index.ts'
import { regionsOf, type TermCell } from './cells.ts'
import { type CellCounts, CellReader, type PackedCells, packCell, unpackCells, writeNumber } from './packed-cells.ts'
import { applyCounts, DAY_HOURS, NOBODY, newTermState } from './term-state.ts'
import { MINUTES_PER_HOUR } from './time.ts'

/**
 * A term with more contributions is frequent. Most terms occur once and never again. A row of eight contributions has
 * about 300 bytes, so that rewriting it costs little more than writing a new one.
 */
const MAX_CONTRIBUTIONS = 32
/** Cells are appended to a row up to this size. Beyond it, cells of the same place are combined. */
const APPENDED_BYTES = 256
const NO_CELLS: PackedCells = Buffer.alloc(0)
/** The longest number of hours. */
const MAX_NUMBER_BYTES = 5

/** A term with few contributions in all regions together, or a note that the store of frequent terms has it. */
export class RareTerm {
  /** The last hour (since 1970) of a term that has become frequent; 0 for a rare term. */
  readonly frequentHour: number
  /** All contributions of a rare term. */
  readonly packed: PackedCells

  constructor(frequentHour: number, packed: PackedCells) {
    this.frequentHour = frequentHour
    this.packed = packed
  }

  get cells(): TermCell[] {
    return unpackCells(this.packed)
  }

  /** What the state endpoint shows. */
  toJSON() {
    return { frequent_hour: this.frequentHour, cells: this.cells }
  }
}

export function frequentNote(hour: number): RareTerm {
  return new RareTerm(hour, NO_CELLS)
}

const codec: Codec<RareTerm> = {
  encode({ frequentHour, packed }, out) {
    out.reserve(MAX_NUMBER_BYTES + packed.length)
    writeNumber(frequentHour, out)
    packed.copy(out.buffer, out.length)
    out.length += packed.length
  },
  decode(buffer, start, end) {
    const reader = new CellReader(buffer, start, end)
    const frequentHour = reader.number()
    return new RareTerm(frequentHour, copied(buffer, reader.at, end))
  },
}

export const rareTerm = rawValue(codec)

/** Returns a part of a buffer in memory of its own. */
export function copied(buffer: Buffer, start: number, end: number): Buffer {
  const copy = Buffer.allocUnsafe(end - start)
  buffer.copy(copy, 0, start, end)
  return copy
}

/** Adds cells to a rare term, whose regions have no state of their own: they are computed when somebody asks. */
export function addCells(known: PackedCells, added: Buffer, start = 0, end: number = added.length): PackedCells {
  const all = Buffer.allocUnsafe(known.length + end - start)
  known.copy(all)
  added.copy(all, known.length, start, end)
  return all
}

/** Combines the cells of each place if a row has become large. */
export function compacted(cells: PackedCells): PackedCells {
  if (cells.length <= APPENDED_BYTES) return cells
  const packed = byteWriter(cells.length)
  for (const cell of unpackCells(cells)) packCell(cell, packed)
  return packed.buffer.subarray(0, packed.length)
}

/**
 * Returns false if the contributions are too many, or spread over more than a day. A rare term keeps all its
 * contributions, and those that are older than a day count no more.
 */
export function isRare({ length, minutes, counts }: CellCounts): boolean {
  let contributions = 0
  let oldest = Infinity
  let newest = 0
  for (let i = 0; i < length; i++) {
    contributions += counts[i]
    if (minutes[i] < oldest) oldest = minutes[i]
    if (minutes[i] > newest) newest = minutes[i]
  }
  return contributions <= MAX_CONTRIBUTIONS && newest - oldest <= DAY_HOURS * MINUTES_PER_HOUR
}

/** Returns the state of a rare term in a region; undefined if it has no contribution there. */
export function stateIn({ cells }: RareTerm, woeid: number): TermState | undefined {
  let state: TermState | undefined
  for (const cell of cells) {
    if (!regionsOf(cell.place).includes(woeid)) continue
    state ??= newTermState()
    applyCounts(state, cell, NOBODY)
  }
  return state
}
