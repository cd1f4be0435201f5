/**
 * The layout that lets one database contain many stores. Every key begins with the 4-byte number of its key space;
 * there is one key space per topology, store and partition. Space 0 is the directory. It contains the format version,
 * the number of every space, positions, and deleted spaces whose rows still have to be removed. A cleared space gets a
 * new number, so that the range deletion of the old rows cannot affect new rows.
 */
export const PREFIX_BYTES = 4
const DIRECTORY_SPACE = 0

/**
 * Increment this when the format of keys or of the directory changes. State in a different format is deleted and
 * restored from the changelogs.
 */
export const FORMAT_VERSION = 1

const POSITION_BYTES = 8
const FORMAT = 0x66
const SPACE = 0x73
const POSITION = 0x70
const DELETED = 0x64
const SEPARATOR = '\0'

/**
 * The directory's content. It is read when the database is opened. Sessions then keep its spaces and positions up to
 * date.
 */
export interface Directory {
  format: number | undefined
  /** Space numbers by `spaceName`. */
  readonly spaces: Map<string, number>
  readonly positions: Map<string, number>
  /** Numbers of cleared spaces whose rows may still be on disk. */
  readonly deleted: number[]
  /** The highest space number in use. */
  lastSpace: number
}

export function spaceName(topology: string, store: string, partition: number): string {
  return topology + SEPARATOR + store + SEPARATOR + partition
}

/** Returns the name of a position in the directory. Positions belong to a topology. */
export function positionName(topology: string, name: string): string {
  return topology + SEPARATOR + name
}

/** Reserves a number that no space has, not even a deleted one whose rows may still be on disk. */
export function nextSpace(directory: Directory): number {
  return ++directory.lastSpace
}

/** Returns the four bytes with which every key in the space begins. */
export function spacePrefix(space: number): Buffer {
  const prefix = Buffer.alloc(PREFIX_BYTES)
  writePrefix(prefix, 0, space)
  return prefix
}

export function writePrefix(target: Uint8Array, at: number, space: number): void {
  target[at] = space >>> 24
  target[at + 1] = space >>> 16
  target[at + 2] = space >>> 8
  target[at + 3] = space
}

/** Returns the range of all keys in the space. */
export function spaceRange(space: number): { gte: Buffer; lt: Buffer } {
  return { gte: spacePrefix(space), lt: spacePrefix(space + 1) }
}

export function directoryRange(): { gte: Buffer; lt: Buffer } {
  return spaceRange(DIRECTORY_SPACE)
}

export function formatEntry(): [key: Buffer, value: Buffer] {
  return [directoryKey(FORMAT, ''), spacePrefix(FORMAT_VERSION)]
}

export function spaceEntry(name: string, space: number): [key: Buffer, value: Buffer] {
  return [directoryKey(SPACE, name), spacePrefix(space)]
}

export function deletedEntry(space: number): [key: Buffer, value: Buffer] {
  return [directoryKey(DELETED, String(space)), spacePrefix(space)]
}

export function positionKey(name: string): Buffer {
  return directoryKey(POSITION, name)
}

export function positionValue(offset: number): Buffer {
  const value = Buffer.allocUnsafe(POSITION_BYTES)
  value.writeDoubleBE(offset)
  return value
}

/** @param rows all rows of the directory's space; keys and values alternate */
export function readDirectory(rows: readonly Buffer[]): Directory {
  const directory: Directory = { format: undefined, spaces: new Map(), positions: new Map(), deleted: [], lastSpace: DIRECTORY_SPACE }
  for (let at = 0; at < rows.length; at += 2) {
    const name = rows[at].toString('utf8', PREFIX_BYTES + 1)
    const value = rows[at + 1]
    switch (rows[at][PREFIX_BYTES]) {
      case FORMAT:
        directory.format = value.readUInt32BE()
        break
      case SPACE:
        directory.spaces.set(name, value.readUInt32BE())
        directory.lastSpace = Math.max(directory.lastSpace, value.readUInt32BE())
        break
      case POSITION:
        directory.positions.set(name, value.readDoubleBE())
        break
      case DELETED:
        directory.deleted.push(value.readUInt32BE())
        directory.lastSpace = Math.max(directory.lastSpace, value.readUInt32BE())
        break
    }
  }
  return directory
}

function directoryKey(kind: number, name: string): Buffer {
  const key = Buffer.alloc(PREFIX_BYTES + 1 + Buffer.byteLength(name))
  key[PREFIX_BYTES] = kind
  key.write(name, PREFIX_BYTES + 1)
  return key
}
