import { hostname } from 'node:os'
import { basename, join } from 'node:path'
import { crc32c } from '../../../kafka/record-batch/checksum.ts'
import type { SpoolFile, SpoolFiles } from '../spool/files.ts'

/** Error for a snapshot that cannot be used, for example because it is damaged, too old, or of a different form. */
export class SnapshotError extends Error {
  override readonly name = 'SnapshotError'
}

/** Size of the prefix of a block: length (u32) and CRC-32C (u32) of the bytes that follow, both little-endian. */
const PREFIX_BYTES = 8
/** Approximate size of one write. Small blocks are collected until they reach this size. */
const WRITE_BYTES = 1_048_576
const DRAFT_SUFFIX = '.draft'
/**
 * Time since the last write to a draft after which the draft counts as abandoned. A process that is still writing a
 * draft writes several times a second.
 */
const ABANDONED_MS = 3_600_000

/**
 * Returns the path of a table's snapshot. All processes that use the folder share this file. Sharing is safe, because a
 * process always replaces the whole file.
 */
export function snapshotPath(folder: string, topic: string): string {
  return join(folder, `${topic}.snapshot`)
}

/** Contents of a file after its magic bytes: a header as JSON, and non-empty blocks of bytes. */
export interface CheckedContent {
  /** `savedAt`: the time of the contents, epoch ms. */
  readonly header: { readonly savedAt: number }
  readonly blocks: Iterable<Buffer>
}

/**
 * Replaces a file. The new file is complete on disk before it is renamed, so a crash leaves the old file intact.
 * Generates the blocks one by one while it writes the file. Also removes abandoned drafts of the file.
 * @param magic the first bytes, which identify the format and its version
 */
export async function writeCheckedFile(
  files: SpoolFiles,
  folder: string,
  path: string,
  magic: Buffer,
  content: CheckedContent,
): Promise<void> {
  // The name of the draft contains the host name as well as the process id, because containers that share the folder
  // may have equal process ids.
  const draft = `${path}.${hostname()}.${process.pid}${DRAFT_SUFFIX}`
  await files.makeFolder(folder)
  await removeAbandoned(files, folder, path, content.header.savedAt - ABANDONED_MS)
  // An earlier process with the same id may have left a draft.
  await files.remove(draft)
  const file = await files.create(draft)
  try {
    try {
      await writeAll(file, magic, content)
      await file.datasync()
    } finally {
      await file.close()
    }
    await files.rename(draft, path)
    await files.syncFolder(folder)
  } catch (error) {
    await files.remove(draft).catch(() => undefined)
    throw error
  }
}

/**
 * Removes drafts of this file that killed processes have left behind. Such drafts are recognised by their age and not
 * by the process in their name, because a new container has a different host name.
 */
async function removeAbandoned(files: SpoolFiles, folder: string, path: string, before: number): Promise<void> {
  const start = `${basename(path)}.`
  for (const name of await files.list(folder)) {
    if (!name.startsWith(start) || !name.endsWith(DRAFT_SUFFIX)) continue
    const draft = join(folder, name)
    const writtenAt = await files.writtenAt(draft)
    if (writtenAt !== undefined && writtenAt < before) await files.remove(draft)
  }
}

async function writeAll(file: SpoolFile, magic: Buffer, { header, blocks }: CheckedContent): Promise<void> {
  let at = 0
  async function append(bytes: Buffer): Promise<void> {
    await file.write(bytes, at)
    at += bytes.length
  }
  await append(Buffer.concat([magic, framed(Buffer.from(JSON.stringify(header)))]))
  let waiting: Buffer[] = []
  let waitingBytes = 0
  for (const block of blocks) {
    waiting.push(framed(block))
    waitingBytes += block.length
    if (waitingBytes < WRITE_BYTES) continue
    await append(Buffer.concat(waiting))
    waiting = []
    waitingBytes = 0
  }
  // An empty block at the end shows that the file is complete.
  await append(Buffer.concat([...waiting, framed(Buffer.alloc(0))]))
}

function framed(body: Buffer): Buffer {
  const prefix = Buffer.allocUnsafe(PREFIX_BYTES)
  prefix.writeUInt32LE(body.length, 0)
  prefix.writeUInt32LE(crc32c(body), 4)
  return Buffer.concat([prefix, body])
}

/** One block, and its position in the file for error messages. */
export interface CheckedBlock {
  readonly body: Buffer
  readonly at: number
}

/** A file that is being read. */
export interface CheckedReader {
  /** The parsed header. */
  readonly header: unknown
  /** Reads one block after another. Throws SnapshotError if the file is damaged. */
  readonly blocks: AsyncIterable<CheckedBlock>
}

/**
 * Reads a file.
 * @param read called with a reader of the file. The file is closed when the returned promise settles.
 * @returns the result of `read`; undefined if there is no file
 * @throws SnapshotError if the file is damaged or does not begin with `magic`
 */
export async function readCheckedFile<T>(
  files: SpoolFiles,
  path: string,
  magic: Buffer,
  read: (reader: CheckedReader) => Promise<T>,
): Promise<T | undefined> {
  const file = await opened(files, path)
  if (file === undefined) return undefined
  try {
    const found = Buffer.alloc(magic.length)
    if ((await file.read(found, 0)) < magic.length || !found.equals(magic))
      throw new SnapshotError('the file does not begin with the magic bytes of this kind of snapshot')
    const size = await file.size()
    const first = await readFrame(file, magic.length, size)
    return await read({ header: JSON.parse(first.body.toString()), blocks: readBlocks(file, first.next, size) })
  } finally {
    await file.close()
  }
}

async function* readBlocks(file: SpoolFile, start: number, size: number): AsyncGenerator<CheckedBlock> {
  let at = start
  for (;;) {
    const { body, next } = await readFrame(file, at, size)
    if (body.length === 0) {
      if (next !== size) throw new SnapshotError(`the file contains more data after its last block, which begins at byte ${at}`)
      return
    }
    yield { body, at }
    at = next
  }
}

async function opened(files: SpoolFiles, path: string): Promise<SpoolFile | undefined> {
  try {
    return await files.open(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

async function readFrame(file: SpoolFile, at: number, size: number): Promise<{ body: Buffer; next: number }> {
  const prefix = Buffer.alloc(PREFIX_BYTES)
  if ((await file.read(prefix, at)) < PREFIX_BYTES) throw new SnapshotError(`the file ends at byte ${at}, before its last block`)
  const length = prefix.readUInt32LE(0)
  if (at + PREFIX_BYTES + length > size) throw new SnapshotError(`the block at byte ${at} extends beyond the end of the file`)
  const body = Buffer.alloc(length)
  if ((await file.read(body, at + PREFIX_BYTES)) < length) throw new SnapshotError(`the file ends in the block at byte ${at}`)
  if (crc32c(body) !== prefix.readUInt32LE(4)) throw new SnapshotError(`the checksum of the block at byte ${at} is wrong`)
  return { body, next: at + PREFIX_BYTES + length }
}
