import { murmur2 } from '../../kafka/partitioner.ts'
import { readDouble } from '../../schemas/avro/read.ts'
import { writeDouble } from '../../schemas/avro/write.ts'
import { byteWriter, type Codec } from '../../schemas/codec.ts'
import { rawValue } from '../engine/index.ts'
import { type TrendCandidate, writeDetails } from './candidate.ts'
import { CellReader, writeNumber } from './packed-cells.ts'
import { NO_BASELINE } from './term-state.ts'
import { RENEWAL_MS } from './time.ts'

/** Maximum size of an encoded number, in bytes. */
const MAX_NUMBER_BYTES = 5
const TIME_BYTES = 6
const DOUBLE_BYTES = 8
/**
 * Flag in the lowest bit of an entry's first number: the term is tracked. The remaining bits identify the report that
 * has the details; 0 is this report.
 */
const TRACKED = 1

/** The part of a report that applies to all its candidates. */
export interface ReportHead {
  readonly woeid: number
  readonly windowEnd: number
  /** The partition of the second stage that sends the report. */
  readonly partition: number
  /** Number of partitions of the first stage whose contributions are not complete. */
  readonly missing: number
  /** Upper bound for the count of any omitted term without a baseline. */
  readonly restNew: number
  /** Upper bound for the score of any omitted term with a baseline. */
  readonly restKnown: number
}

/** Refers to an earlier report of the same partition about the same region. */
export interface ReportReference {
  readonly windowEnd: number
  /**
   * A hash of the report's details. It is needed because a restarted partition may send a different report about the
   * same window.
   */
  readonly id: number
}

/**
 * The part of a candidate that every report contains, even if the report refers to an earlier report for the details.
 */
export type ReportedCounts = Pick<TrendCandidate, 'count' | 'baseline' | 'tracked'>

/**
 * Receives an entry of a report.
 * @param details the earlier report that contains the details; undefined if this report contains them
 * @param at position of these details in the bytes of all details of the report that contains them
 */
export type VisitEntry = (entry: ReportedCounts, details: ReportReference | undefined, at: number) => void

/**
 * The best terms of a region in one partition and one window: first the terms without a baseline, by count, and then
 * the terms with a baseline, by score. In both groups, the best come first. A report has the count and the baseline of
 * each term, but the details only of terms whose details have changed or must be sent again. For the details of all
 * other terms, the report refers to an earlier report.
 */
export class RegionReport implements ReportHead {
  readonly buffer: Buffer
  readonly start: number
  readonly end: number
  readonly woeid: number
  readonly partition: number
  readonly windowEnd: number
  readonly missing: number
  readonly restNew: number
  readonly restKnown: number
  readonly id: number
  readonly references: readonly ReportReference[]
  readonly detailsAt: number
  readonly #fresh: number
  readonly #known: number
  readonly #entriesAt: number

  /** @throws CodecError if the bytes are not a report */
  constructor(buffer: Buffer, start: number, end: number) {
    const reader = new CellReader(buffer, start, end)
    this.buffer = buffer
    this.start = start
    this.end = end
    this.woeid = reader.number()
    this.partition = reader.number()
    this.windowEnd = buffer.readUIntLE(reader.skip(TIME_BYTES), TIME_BYTES)
    this.missing = reader.number()
    this.restNew = reader.number()
    this.restKnown = readDouble(buffer, reader.skip(DOUBLE_BYTES))
    this.id = reader.number()
    this.references = Array.from({ length: reader.number() }, () => ({
      windowEnd: this.windowEnd - reader.number() * RENEWAL_MS,
      id: reader.number(),
    }))
    this.#fresh = reader.number()
    this.#known = reader.number()
    const entriesBytes = reader.number()
    this.#entriesAt = reader.at
    this.detailsAt = reader.at + entriesBytes
  }

  get entries(): number {
    return this.#fresh + this.#known
  }

  /** The earliest window end of this report and of the reports to which it refers. */
  get oldest(): number {
    return this.references.reduce((oldest, { windowEnd }) => Math.min(oldest, windowEnd), this.windowEnd)
  }

  /** Visits the entries in their order. */
  eachEntry(visit: VisitEntry): void {
    const { buffer, references, entries } = this
    const reader = new CellReader(buffer, this.#entriesAt, this.detailsAt)
    for (let i = 0; i < entries; i++) {
      const first = reader.number()
      const reference = first >>> 1
      const at = reader.number()
      const count = reader.number()
      const baseline = i < this.#fresh ? NO_BASELINE : readDouble(buffer, reader.skip(DOUBLE_BYTES))
      visit({ count, baseline, tracked: (first & TRACKED) !== 0 }, reference === 0 ? undefined : references[reference - 1], at)
    }
  }

  /** Returns a copy of the report that has its own memory. */
  copy(): RegionReport {
    const length = this.end - this.start
    const copied = Buffer.allocUnsafeSlow(length)
    this.buffer.copy(copied, 0, this.start, this.end)
    return new RegionReport(copied, 0, length)
  }

  /** Returns what the state endpoint shows. */
  toJSON() {
    const { woeid, partition, windowEnd, missing, restNew, restKnown, references } = this
    const entries: unknown[] = []
    this.eachEntry((entry, details, at) => entries.push({ ...entry, details: details?.windowEnd ?? windowEnd, at }))
    return { woeid, partition, window_end: windowEnd, missing, rest_new: restNew, rest_known: restKnown, references, entries }
  }
}

const codec: Codec<RegionReport> = {
  encode({ buffer, start, end }, out) {
    out.reserve(end - start)
    out.length += buffer.copy(out.buffer, out.length, start, end)
  },
  decode: (buffer, start, end) => new RegionReport(buffer, start, end),
}

export const regionReport = rawValue(codec)

/**
 * Writes one report after another. Entries must be added in the order of the report: first the terms without a
 * baseline.
 */
export function reportWriter() {
  const whole = byteWriter()
  const entries = byteWriter()
  const details = byteWriter()
  let references: ReportReference[] = []
  let fresh = 0
  let known = 0

  function add(reference: number, at: number, count: number, baseline: number, tracked: boolean): void {
    entries.reserve(3 * MAX_NUMBER_BYTES + DOUBLE_BYTES)
    writeNumber(2 * reference + (tracked ? TRACKED : 0), entries)
    writeNumber(at, entries)
    writeNumber(count, entries)
    if (baseline === NO_BASELINE) fresh++
    else {
      known++
      entries.length = writeDouble(entries.buffer, entries.length, baseline)
    }
  }

  return {
    /**
     * Number of bytes of details so far. This is the position at which the next details begin, and by which later
     * reports refer to them.
     */
    get detailsBytes(): number {
      return details.length
    },
    /** Adds a candidate with its details. */
    addNew(candidate: TrendCandidate, count = candidate.count, baseline = candidate.baseline, tracked = candidate.tracked): void {
      const at = details.length
      writeDetails(candidate, details)
      add(0, at, count, baseline, tracked)
    },
    /** Adds a candidate whose details are in an earlier report. */
    addSent(details: ReportReference, at: number, count: number, baseline: number, tracked: boolean): void {
      let place = references.indexOf(details)
      if (place < 0) place = references.push(details) - 1
      add(place + 1, at, count, baseline, tracked)
    },
    /** Returns the report. Its bytes are valid until the next report is finished. */
    finish({ woeid, windowEnd, partition, missing, restNew, restKnown }: ReportHead): RegionReport {
      whole.length = 0
      whole.reserve(MAX_NUMBER_BYTES * (9 + 2 * references.length) + TIME_BYTES + DOUBLE_BYTES + entries.length + details.length)
      writeNumber(woeid, whole)
      writeNumber(partition, whole)
      whole.length = whole.buffer.writeUIntLE(windowEnd, whole.length, TIME_BYTES)
      writeNumber(missing, whole)
      writeNumber(restNew, whole)
      whole.length = writeDouble(whole.buffer, whole.length, restKnown)
      writeNumber(murmur2(details.buffer, 0, details.length) >>> 0, whole)
      writeNumber(references.length, whole)
      for (const reference of references) {
        writeNumber((windowEnd - reference.windowEnd) / RENEWAL_MS, whole)
        writeNumber(reference.id, whole)
      }
      writeNumber(fresh, whole)
      writeNumber(known, whole)
      writeNumber(entries.length, whole)
      for (const { buffer, length } of [entries, details]) whole.length += buffer.copy(whole.buffer, whole.length, 0, length)
      entries.length = 0
      details.length = 0
      references = []
      fresh = 0
      known = 0
      return new RegionReport(whole.buffer, 0, whole.length)
    },
  }
}
