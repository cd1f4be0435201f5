import { hostname } from 'node:os'
import { join } from 'node:path'
import { crc32c } from '../../../kafka/record-batch/checksum.ts'
import type { SpoolFile, SpoolFiles } from '../spool/files.ts'
import { type PackedLayout, PackedMap, packedBytes } from './packed-map.ts'
import { SIP_KEY_BYTES } from './sip-hash.ts'

/** What a snapshot must match to be used. */
export interface SnapshotForm extends PackedLayout {
  readonly topic: string
  /** The packing's version. */
  readonly version: number
}

/** The contents of a table at some time. */
export interface Snapshot {
  readonly map: PackedMap
  /** The secret key of the hashes. */
  readonly key: Buffer
  /** The offset of the next record to read, by partition. Entries may contain later changes. */
  readonly positions: ReadonlyMap<number, number>
  /** Epoch ms at which the table had been read to these positions. */
  readonly savedAt: number
}

/** Thrown for a file that is damaged, or that belongs to another form of the table. */
export class SnapshotError extends Error {
  override readonly name = 'SnapshotError'
}

interface Header extends SnapshotForm {
  readonly key: string
  readonly positions: readonly (readonly [partition: number, offset: number])[]
  readonly savedAt: number
}

/** The first bytes of a file. The digit is the version of the format. */
const MAGIC = Buffer.from('MRTABLE1')
/** Length (u32) and CRC-32C (u32) of the bytes that follow, both little-endian. */
const PREFIX_BYTES = 8
/** Segments are collected to blocks of about this size. */
const WRITE_BYTES = 1_048_576
const MS_PER_SECOND = 1_000

/** Returns the path of a table's snapshot. All processes of a machine share it, because each file is complete. */
export function snapshotPath(folder: string, topic: string): string {
  return join(folder, `${topic}.snapshot`)
}

/**
 * Replaces the snapshot of a table. The file is complete on the disk before it gets its name, so that a crash leaves
 * the old one. The table may change meanwhile: reading from `positions` again applies the same changes again.
 */
export async function writeSnapshot(files: SpoolFiles, folder: string, form: SnapshotForm, snapshot: Snapshot): Promise<void> {
  const path = snapshotPath(folder, form.topic)
  // Containers that share the folder have equal process ids, but names of their own.
  const draft = `${path}.${hostname()}.${process.pid}.draft`
  await files.makeFolder(folder)
  // An earlier process with this id may have left one.
  await files.remove(draft)
  const file = await files.create(draft)
  try {
    try {
      await writeAll(file, form, snapshot)
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

async function writeAll(file: SpoolFile, form: SnapshotForm, { map, key, positions, savedAt }: Snapshot): Promise<void> {
  const { topic, version, valueBytes, canExpire } = form
  const header: Header = { topic, version, valueBytes, canExpire, key: key.toString('hex'), positions: [...positions], savedAt }
  let at = 0
  async function append(bytes: Buffer): Promise<void> {
    await file.write(bytes, at)
    at += bytes.length
  }
  await append(Buffer.concat([MAGIC, framed(Buffer.from(JSON.stringify(header)))]))
  let blocks: Buffer[] = []
  let waiting = 0
  for (let index = 0; index < map.segments; index++) {
    const entries = map.packed(index)
    if (entries === undefined) continue
    blocks.push(framed(entries))
    waiting += entries.length
    if (waiting < WRITE_BYTES) continue
    await append(Buffer.concat(blocks))
    blocks = []
    waiting = 0
  }
  // The empty block at the end shows that nothing is missing.
  await append(Buffer.concat([...blocks, framed(Buffer.alloc(0))]))
}

function framed(body: Buffer): Buffer {
  const prefix = Buffer.allocUnsafe(PREFIX_BYTES)
  prefix.writeUInt32LE(body.length, 0)
  prefix.writeUInt32LE(crc32c(body), 4)
  return Buffer.concat([prefix, body])
}

/**
 * Reads the snapshot of a table.
 * @returns undefined if there is none
 * @throws SnapshotError when it is damaged or has another form
 */
export async function readSnapshot(
  files: SpoolFiles,
  folder: string,
  form: SnapshotForm,
  now: () => number,
): Promise<Snapshot | undefined> {
  const file = await opened(files, snapshotPath(folder, form.topic))
  if (file === undefined) return undefined
  try {
    const magic = Buffer.alloc(MAGIC.length)
    if ((await file.read(magic, 0)) < magic.length || !magic.equals(MAGIC)) throw new SnapshotError('the file does not begin as a snapshot')
    const size = await file.size()
    const first = await readFrame(file, MAGIC.length, size)
    const header = JSON.parse(first.body.toString()) as Header
    assertForm(header, form)
    const map = new PackedMap(form)
    let { next } = first
    for (;;) {
      const block = await readFrame(file, next, size)
      if (block.body.length === 0) break
      if (block.body.length % packedBytes(form) !== 0) throw new SnapshotError(`the block at ${next} has no whole entries`)
      map.addPacked(block.body, now() / MS_PER_SECOND)
      next = block.next
    }
    return { map, key: Buffer.from(header.key, 'hex'), positions: new Map(header.positions), savedAt: header.savedAt }
  } finally {
    await file.close()
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
  if ((await file.read(prefix, at)) < PREFIX_BYTES) throw new SnapshotError(`the file ends at ${at}`)
  const length = prefix.readUInt32LE(0)
  if (at + PREFIX_BYTES + length > size) throw new SnapshotError(`the block at ${at} is longer than the file`)
  const body = Buffer.alloc(length)
  if ((await file.read(body, at + PREFIX_BYTES)) < length) throw new SnapshotError(`the file ends in the block at ${at}`)
  if (crc32c(body) !== prefix.readUInt32LE(4)) throw new SnapshotError(`the checksum of the block at ${at} does not match`)
  return { body, next: at + PREFIX_BYTES + length }
}

function assertForm(header: Header, form: SnapshotForm): void {
  for (const name of ['topic', 'version', 'valueBytes', 'canExpire'] as const) {
    if (header[name] !== form[name]) throw new SnapshotError(`it has the ${name} ${header[name]}, but the table has ${form[name]}`)
  }
  if (header.key.length !== SIP_KEY_BYTES * 2) throw new SnapshotError('its key has the wrong length')
}
