import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { BundleError } from './manifest.ts'

/**
 * The file `items.groups` of a bundle. It contains the vectors of a large catalogue as 8-bit numbers, in groups of
 * vectors with similar directions: docs/adr/0091-vectors-are-searched-in-groups.md. The longest vectors are in no
 * group. The parts of the file follow one another: a header, the place of the first row of each group and the number of
 * rows (32-bit integers), the row at each place (32-bit integers), the centres of the groups, and the vectors, place by
 * place (both as 8-bit numbers). The rows of a group are sorted by descending length.
 */
export interface GroupFile {
  readonly groups: number
  /** The place at which each group begins. The last element is the number of rows in all groups. */
  readonly starts: Uint32Array
  /** The row at each place. */
  readonly rows: Uint32Array
  /** The centres of the groups, one after another. */
  readonly centres: Int8Array
  /** The factor by which the centres, vectors of length 1, were multiplied before they were rounded. */
  readonly centreScale: number
  /** The factor by which the damped vectors were multiplied before they were rounded: see `dampingOf`. */
  readonly scale: number
  /**
   * Writes the 8-bit numbers of `count` rows to the beginning of `out`, starting with the row at `place`.
   * @throws Error if the file has become shorter
   */
  read(place: number, count: number, out: Uint8Array): void
  close(): void
}

/**
 * The header consists of the format, the numbers of groups and of rows, and the two scales, which are 32-bit floats.
 */
const HEADER_BYTES = 20
const FORMAT = 1
const WORD = 4

/** Returns everything that precedes the 8-bit numbers of the vectors, in the order of the file. */
export function groupFileStart({ groups, starts, rows, centres, centreScale, scale }: Omit<GroupFile, 'read' | 'close'>): Uint8Array[] {
  const header = Buffer.alloc(HEADER_BYTES)
  header.writeUInt32LE(FORMAT, 0)
  header.writeUInt32LE(groups, WORD)
  header.writeUInt32LE(rows.length, 2 * WORD)
  header.writeFloatLE(centreScale, 3 * WORD)
  header.writeFloatLE(scale, 4 * WORD)
  return [header, ...[starts, rows, centres].map(({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength))]
}

/**
 * Opens the groups of a bundle.
 * @param items number of items of the bundle
 * @throws BundleError if the file does not contain groups of these items. If the file is missing, the error is that of
 * the file system, so that the caller fetches the file again.
 */
export function openGroupFile(path: string, dimensions: number, items: number): GroupFile {
  const file = openSync(path, 'r')
  try {
    const { size } = fstatSync(file)
    const header = Buffer.alloc(HEADER_BYTES)
    readSync(file, header, 0, HEADER_BYTES, 0)
    const [groups, count] = [header.readUInt32LE(WORD), header.readUInt32LE(2 * WORD)]
    const start = HEADER_BYTES + WORD * (groups + 1 + count) + groups * dimensions
    if (header.readUInt32LE(0) !== FORMAT || count > items || size !== start + count * dimensions) {
      throw new BundleError(`${path} does not contain groups of vectors with ${dimensions} dimensions`)
    }
    const [centreScale, scale] = [header.readFloatLE(3 * WORD), header.readFloatLE(4 * WORD)]
    for (const one of [centreScale, scale]) {
      if (!(one > 0 && one < Number.POSITIVE_INFINITY)) throw new BundleError(`${path} contains the scale ${one}, which cannot be used`)
    }
    const parts = { starts: new Uint32Array(groups + 1), rows: new Uint32Array(count), centres: new Int8Array(groups * dimensions) }
    let from = HEADER_BYTES
    for (const part of Object.values(parts)) {
      readWhole(file, new Uint8Array(part.buffer), from)
      from += part.byteLength
    }
    checkGroups(parts.starts, parts.rows, items)
    return {
      ...{ groups, ...parts, centreScale, scale },
      read: (place, number, out) => readWhole(file, out.subarray(0, number * dimensions), start + place * dimensions),
      close: () => closeSync(file),
    }
  } catch (error) {
    closeSync(file)
    throw error
  }
}

/** Fills `out` with the bytes at a position of a file. */
function readWhole(file: number, out: Uint8Array, position: number): void {
  const bytes = readSync(file, out, 0, out.length, position)
  if (bytes !== out.length) throw new Error(`the file of the groups ends ${out.length - bytes} bytes too early`)
}

function checkGroups(starts: Uint32Array, rows: Uint32Array, items: number): void {
  for (let group = 1; group < starts.length; group++) {
    if (starts[group] < starts[group - 1]) throw new BundleError('the groups of vectors are not in order')
  }
  if (starts[0] !== 0 || starts.at(-1) !== rows.length) {
    throw new BundleError('the groups of vectors do not begin with the first row or do not end with the last one')
  }
  const isKnown = new Uint8Array(items)
  for (const row of rows) {
    if (row >= items || isKnown[row] === 1) throw new BundleError(`the row ${row} in the groups of vectors is unknown or repeated`)
    isKnown[row] = 1
  }
}
