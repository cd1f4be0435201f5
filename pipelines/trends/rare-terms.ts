import { type ByteWriter, byteWriter, type Codec } from '../../schemas/codec.ts'
import type { TermState } from '../../schemas/trends/types.ts'
import { type ByteSpan, rawValue } from '../engine/index.ts'
import type { TermCell } from './cells.ts'
import {
  type CellCounts,
  CellReader,
  type PackedCells,
  packCell,
  packedCells,
  unpackRow,
  writeNumber,
  writePacked,
} from './packed-cells.ts'
import { regionsOf } from './regions-of.ts'
import { sampledTweets } from './samples.ts'
import { applyCounts, DAY_HOURS, NOBODY, newTermState, trackFrom } from './term-state.ts'
import { MINUTES_PER_HOUR } from './time.ts'

/**
 * Maximum number of contributions to a rare term. A term with more contributions is frequent. Most terms occur once and
 * never again. A row of eight contributions has about 300 bytes, so rewriting it costs little more than writing a new
 * one.
 */
const MAX_CONTRIBUTIONS = 32
/**
 * Up to this size, cells are only appended to a row. When a row grows past this size, and each time it grows past twice
 * the previous threshold, the cells of each place are combined. They are not combined if this would hardly reduce their
 * number.
 */
const APPENDED_BYTES = 256
/** Maximum size of an encoded number. */
const MAX_NUMBER_BYTES = 5

/**
 * A region whose list has contained a rare term, and the hour from which the term's baseline in this region is learned.
 */
export interface TrackedRegion {
  readonly woeid: number
  readonly hour: number
}

const NOWHERE: readonly TrackedRegion[] = []

/**
 * A row in the store of rare terms. It describes either a term with few contributions across all regions, or only
 * records that the term is in the store of frequent terms.
 */
export class RareTerm {
  /**
   * 0 for a rare term. For a frequent term, the newest hour (since 1970) in which a contribution arrived or a region
   * began to track the term.
   */
  readonly frequentHour: number
  /** All contributions of a rare term. */
  readonly packed: PackedCells
  /** The regions that track a rare term. */
  readonly tracked: readonly TrackedRegion[]

  constructor(frequentHour: number, packed: PackedCells, tracked = NOWHERE) {
    this.frequentHour = frequentHour
    this.packed = packed
    this.tracked = tracked
  }

  get cells(): TermCell[] {
    return unpackRow(this.packed)
  }

  /** Returns what the state endpoint shows. */
  toJSON() {
    const cells = this.cells.map((cell) => ({ ...cell, samples: sampledTweets(cell.samples) }))
    return { frequent_hour: this.frequentHour, tracked: this.tracked, cells }
  }
}

export function frequentNote(hour: number): RareTerm {
  return new RareTerm(hour, '')
}

const codec: Codec<RareTerm> = {
  encode({ frequentHour, packed, tracked }, out) {
    writeHead(frequentHour, tracked, out)
    writePacked(packed, out)
  },
  decode(buffer, start, end) {
    const { frequentHour, tracked, cellsAt } = new RareRow().read({ buffer, start, end })
    return new RareTerm(frequentHour, packedCells(buffer, cellsAt, end), tracked)
  },
}

function writeHead(frequentHour: number, tracked: readonly TrackedRegion[], out: ByteWriter): void {
  out.reserve(MAX_NUMBER_BYTES * (2 + 2 * tracked.length))
  writeNumber(frequentHour, out)
  writeNumber(tracked.length, out)
  for (const { woeid, hour } of tracked) {
    writeNumber(woeid, out)
    writeNumber(hour, out)
  }
}

/** Writes the bytes before the cells in the row of a rare term. */
export function writeTracked(tracked: readonly TrackedRegion[], out: ByteWriter): void {
  writeHead(0, tracked, out)
}

/** The bytes before the cells in the row of a rare term that no region tracks. */
export const UNTRACKED = Buffer.from([0, 0])

/** The parts of an encoded row. The cells are not decoded. One object is reused for many reads. */
export class RareRow {
  frequentHour = 0
  /** The hour in which the first region began to track the term; 0 if no region tracks it. */
  trackedHour = 0
  /** The position of the first cell. */
  cellsAt = 0
  #buffer: Buffer = UNTRACKED
  #regions = 0
  #regionsAt = 0

  /** @param row its bytes must not change while `tracked` is used */
  read({ buffer, start, end }: Readonly<ByteSpan>): this {
    const reader = new CellReader(buffer, start, end)
    this.frequentHour = reader.number()
    this.trackedHour = 0
    this.#buffer = buffer
    this.#regions = reader.number()
    this.#regionsAt = reader.at
    for (let i = 0; i < this.#regions; i++) {
      reader.number()
      const hour = reader.number()
      if (i === 0 || hour < this.trackedHour) this.trackedHour = hour
    }
    this.cellsAt = reader.at
    return this
  }

  /** The regions that track a rare term. */
  get tracked(): readonly TrackedRegion[] {
    if (this.#regions === 0) return NOWHERE
    const reader = new CellReader(this.#buffer, this.#regionsAt, this.cellsAt)
    return Array.from({ length: this.#regions }, () => ({ woeid: reader.number(), hour: reader.number() }))
  }
}

export const rareTerm = rawValue(codec)

/**
 * Returns true if an addition makes a row so large that its cells should be combined. Cells are seldom combined,
 * because this is the most expensive operation on a rare term.
 * @param bytes size of the cells before the addition
 * @param added size of the addition
 */
export function mustCompact(bytes: number, added: number): boolean {
  return bytes + added > APPENDED_BYTES && sizeClass(bytes + added) > sizeClass(bytes)
}

function sizeClass(bytes: number): number {
  return Math.clz32(APPENDED_BYTES) - Math.clz32(Math.max(0, bytes - 1))
}

/** Combines the cells of each place if a row has become large. */
export function compacted(cells: PackedCells): PackedCells {
  if (cells.length <= APPENDED_BYTES) return cells
  const packed = byteWriter(cells.length)
  for (const cell of unpackRow(cells)) packCell(cell, packed)
  return packedCells(packed.buffer, 0, packed.length)
}

/**
 * Returns true if a term is rare: its contributions are few and lie within a day. The limit of a day is necessary
 * because a rare term keeps all its contributions, but contributions older than a day must not be counted.
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
export function stateIn(row: RareTerm, woeid: number): TermState | undefined {
  let state: TermState | undefined
  for (const cell of row.cells) {
    const level = regionsOf(cell.place).indexOf(woeid)
    if (level < 0) continue
    state ??= emptyStateIn(row, woeid)
    applyCounts(state, cell, level, NOBODY)
  }
  return state
}

/**
 * Returns an empty state for a term in a region. If the region tracks the term, the state contains the hour in which
 * tracking began.
 */
export function emptyStateIn({ tracked }: RareTerm, woeid: number): TermState {
  const state = newTermState()
  const region = tracked.find((each) => each.woeid === woeid)
  if (region !== undefined) trackFrom(state, region.hour)
  return state
}
