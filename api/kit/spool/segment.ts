import { join } from 'node:path'
import { crc32c } from '../../../kafka/record-batch/checksum.ts'
import type { SpoolFile, SpoolFiles } from './files.ts'
import { FrameReader, SEGMENT_HEADER } from './frames.ts'

const SEGMENT_SUFFIX = '.records'
const MARKS_SUFFIX = '.sent'
/** Size of a mark: offset of a record that need not be sent again (u32), and CRC-32C of the offset (u32). */
const MARK_BYTES = 8
const NAME_DIGITS = 8
/** Length of the header without the version. */
const FORMAT_NAME_BYTES = SEGMENT_HEADER.length - 1

function segmentName(number: number): string {
  return `${String(number).padStart(NAME_DIGITS, '0')}${SEGMENT_SUFFIX}`
}

export function isSegmentName(name: string): boolean {
  return name.endsWith(SEGMENT_SUFFIX)
}

/**
 * A file of records, and a second file with marks for the records that Kafka has acknowledged or refused. Marks are not
 * synced, because a record without its mark is merely sent again.
 */
export class Segment {
  readonly folder: string
  readonly #name: string
  readonly #files: SpoolFiles
  readonly file: SpoolFile
  #marks: SpoolFile | undefined
  #marksEnd = 0
  #unmarked: number[] = []
  /** Position after the last whole record. */
  end = SEGMENT_HEADER.length
  /** Whether `scan` has found bytes that a crash alone cannot explain. */
  isDamaged = false
  /** Number of bytes before `end` that cannot be read. */
  skipped = 0
  /** Whether the segment is complete, so that nothing more is appended. */
  isSealed = false
  /** Number of records that Kafka has neither acknowledged nor refused yet. */
  unsettled = 0
  /** Epoch ms of the first record; undefined while the segment has no records. */
  oldest: number | undefined
  /** Numbers of the topics that the file declares. */
  readonly declared = new Set<number>()
  /** Offsets of records that Kafka has acknowledged or refused. */
  readonly settled = new Set<number>()
  /** Offsets of records that were given to the publisher and are not settled. */
  readonly published = new Set<number>()

  private constructor(folder: string, name: string, files: SpoolFiles, file: SpoolFile) {
    this.folder = folder
    this.#name = name
    this.#files = files
    this.file = file
  }

  static async create(files: SpoolFiles, folder: string, number: number): Promise<Segment> {
    const name = segmentName(number)
    const path = join(folder, name)
    const file = await files.create(path)
    try {
      await file.write(SEGMENT_HEADER, 0)
      await file.datasync()
      await files.syncFolder(folder)
    } catch (error) {
      await file.close()
      await files.remove(path)
      throw error
    }
    return new Segment(folder, name, files, file)
  }

  /** Opens a segment of a dead process. `scan` then counts its records. */
  static async open(files: SpoolFiles, folder: string, name: string): Promise<Segment> {
    const segment = new Segment(folder, name, files, await files.open(join(folder, name)))
    segment.isSealed = true
    try {
      await segment.#readMarks()
    } catch (error) {
      await segment.close()
      throw error
    }
    return segment
  }

  get path(): string {
    return join(this.folder, this.#name)
  }

  get #marksPath(): string {
    return join(this.folder, this.#name.replace(SEGMENT_SUFFIX, MARKS_SUFFIX))
  }

  /** Total size of both files in bytes. */
  get bytes(): number {
    return this.end + this.#marksEnd
  }

  reader(): FrameReader {
    return new FrameReader(this.file)
  }

  /**
   * Finds the end of the complete records, and reports each record that is not settled.
   * @returns number of bytes after the last readable record. These bytes are incomplete, damaged or of a different
   * version.
   */
  async scan(found: (topic: string, key: Buffer) => void): Promise<number> {
    const size = await this.file.size()
    const reader = this.reader()
    const header = Buffer.alloc(SEGMENT_HEADER.length)
    await this.file.read(header, 0)
    if (!header.equals(SEGMENT_HEADER)) {
      // A crash while the segment was being created leaves a file without a header and without records.
      if (size <= SEGMENT_HEADER.length) return size
      this.isDamaged = true
      // A different version of the software wrote this file in a format that this version cannot read.
      if (header.subarray(0, FORMAT_NAME_BYTES).equals(SEGMENT_HEADER.subarray(0, FORMAT_NAME_BYTES))) return size - this.end
    }
    for (;;) {
      const next = await reader.next(size)
      if (next === undefined) break
      this.oldest ??= next.record.timestamp
      if (this.settled.has(next.offset)) continue
      this.unsettled++
      found(next.record.topic.name, next.record.key)
    }
    this.end = reader.position
    this.skipped = reader.skipped
    const rest = size - this.end
    if (this.skipped > 0 || (rest > 0 && !(await reader.isCutOff(size)))) this.isDamaged = true
    return rest
  }

  async #readMarks(): Promise<void> {
    const file = await this.#files.open(this.#marksPath).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
    })
    if (file === undefined) return
    this.#marks = file
    const bytes = Buffer.alloc(await file.size())
    await file.read(bytes, 0)
    for (let at = 0; at + MARK_BYTES <= bytes.length; at += MARK_BYTES) {
      // A torn or damaged mark is ignored, so its record is sent again.
      if (crc32c(bytes.subarray(at, at + 4)) >>> 0 === bytes.readUInt32LE(at + 4)) this.settled.add(bytes.readUInt32LE(at))
    }
    this.#marksEnd = bytes.length - (bytes.length % MARK_BYTES)
  }

  settle(offset: number): void {
    if (this.settled.has(offset)) return
    this.published.delete(offset)
    this.settled.add(offset)
    this.unsettled--
    this.#unmarked.push(offset)
  }

  get isDone(): boolean {
    return this.isSealed && this.unsettled === 0
  }

  get needsMarks(): boolean {
    return this.#unmarked.length > 0
  }

  /** Writes the marks of settled records. */
  async mark(): Promise<void> {
    const offsets = this.#unmarked
    this.#unmarked = []
    const bytes = Buffer.allocUnsafe(offsets.length * MARK_BYTES)
    for (const [index, offset] of offsets.entries()) {
      const at = index * MARK_BYTES
      bytes.writeUInt32LE(offset, at)
      bytes.writeUInt32LE(crc32c(bytes.subarray(at, at + 4)) >>> 0, at + 4)
    }
    this.#marks ??= await this.#files.create(this.#marksPath)
    await this.#marks.write(bytes, this.#marksEnd)
    this.#marksEnd += bytes.length
  }

  async close(): Promise<void> {
    await Promise.all([this.file.close(), this.#marks?.close()])
  }

  /** Deletes both files. The records are deleted first, because marks without records are harmless. */
  async remove(): Promise<void> {
    await this.close()
    await this.#files.remove(this.path)
    await this.#files.remove(this.#marksPath)
  }
}
