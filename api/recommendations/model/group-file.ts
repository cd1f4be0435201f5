import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { setImmediate as otherWork } from 'node:timers/promises'
import { BundleError } from './manifest.ts'
import { readWhole } from './read-whole.ts'

/**
 * The file `items.groups` of a bundle. It contains the vectors of a large catalogue as 8-bit numbers, in groups of
 * vectors with similar directions: docs/adr/0091-vectors-are-searched-in-groups.md. The longest vectors are in no
 * group. The parts of the file follow one another: a header, the place of the first row of each group and the number of
 * rows (32-bit integers), the row at each place (32-bit integers), the steps of the vectors, place by place, and of the
 * centres of the groups (both as 32-bit floats), the centres, and the vectors, place by place (both as 8-bit numbers).
 * The rows of a group are sorted by descending length.
 */
export interface GroupFile {
  readonly groups: number
  /** The place at which each group begins. The last element is the number of rows in all groups. */
  readonly starts: Uint32Array
  /** The row at each place. */
  readonly rows: Uint32Array
  /** The step of the vector at each place. The maximum length of a vector counts as 1. */
  readonly steps: Float32Array
  /** The steps of the centres. */
  readonly centreSteps: Float32Array
  /** The centres of the groups, vectors of length 1, one after another. */
  readonly centres: Int8Array
  /**
   * Writes the 8-bit numbers of `count` rows to the beginning of `out`, starting with the row at `place`.
   * @throws Error if the file has become shorter
   */
  read(place: number, count: number, out: Uint8Array): void
  close(): void
}

/** The header consists of the format, the number of groups and the number of rows. */
const HEADER_BYTES = 12
const FORMAT = 1
const WORD = 4
/** Number of rows checked between two pauses. Checking them takes less than a millisecond. */
const CHECKED_ROWS = 1 << 16

/**
 * Returns everything that precedes the 8-bit numbers of the vectors, in the order of the file. The parts after the
 * header are views of the given arrays.
 */
export function groupFileStart(start: Omit<GroupFile, 'read' | 'close'>): Uint8Array[] {
  const { groups, starts, rows, steps, centreSteps, centres } = start
  const header = Buffer.alloc(HEADER_BYTES)
  header.writeUInt32LE(FORMAT, 0)
  header.writeUInt32LE(groups, WORD)
  header.writeUInt32LE(rows.length, 2 * WORD)
  const parts = [starts, rows, steps, centreSteps, centres]
  return [header, ...parts.map(({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength))]
}

/**
 * Opens the groups of a bundle. The process serves requests between the steps.
 * @param items number of items of the bundle
 * @throws BundleError if the file does not contain groups of these items. If the file is missing, the error is that of
 * the file system, so that the caller fetches the file again.
 */
export async function openGroupFile(path: string, dimensions: number, items: number): Promise<GroupFile> {
  const file = openSync(path, 'r')
  try {
    const { size } = fstatSync(file)
    const header = Buffer.alloc(HEADER_BYTES)
    readSync(file, header, 0, HEADER_BYTES, 0)
    const [groups, count] = [header.readUInt32LE(WORD), header.readUInt32LE(2 * WORD)]
    const start = HEADER_BYTES + WORD * (groups + 1 + 2 * count + groups) + groups * dimensions
    if (header.readUInt32LE(0) !== FORMAT || count > items || size !== start + count * dimensions) {
      throw new BundleError(`${path} does not contain groups of vectors with ${dimensions} dimensions`)
    }
    const parts = {
      starts: new Uint32Array(groups + 1),
      rows: new Uint32Array(count),
      steps: new Float32Array(count),
      centreSteps: new Float32Array(groups),
      centres: new Int8Array(groups * dimensions),
    }
    let from = HEADER_BYTES
    for (const part of Object.values(parts)) {
      readWhole(file, new Uint8Array(part.buffer), from)
      from += part.byteLength
      await otherWork()
    }
    checkStarts(parts.starts, count)
    await checkRows(parts.rows, items)
    for (const steps of [parts.steps, parts.centreSteps]) await checkSteps(steps)
    return {
      ...{ groups, ...parts },
      read: (place, number, out) => readWhole(file, out.subarray(0, number * dimensions), start + place * dimensions),
      close: () => closeSync(file),
    }
  } catch (error) {
    closeSync(file)
    throw error
  }
}

function checkStarts(starts: Uint32Array, rows: number): void {
  for (let group = 1; group < starts.length; group++) {
    if (starts[group] < starts[group - 1]) throw new BundleError('the groups of vectors are not in order')
  }
  if (starts[0] !== 0 || starts.at(-1) !== rows) {
    throw new BundleError('the groups of vectors do not begin with the first row or do not end with the last one')
  }
}

async function checkRows(rows: Uint32Array, items: number): Promise<void> {
  const isKnown = new Uint8Array(items)
  for (let start = 0; start < rows.length; start += CHECKED_ROWS) {
    for (const row of rows.subarray(start, start + CHECKED_ROWS)) {
      if (row >= items || isKnown[row] === 1) throw new BundleError(`the row ${row} in the groups of vectors is unknown or repeated`)
      isKnown[row] = 1
    }
    await otherWork()
  }
}

async function checkSteps(steps: Float32Array): Promise<void> {
  for (let start = 0; start < steps.length; start += CHECKED_ROWS) {
    for (const step of steps.subarray(start, start + CHECKED_ROWS)) {
      if (!(step >= 0 && step < Number.POSITIVE_INFINITY)) throw new BundleError(`the groups of vectors contain the step ${step}`)
    }
    await otherWork()
  }
}
