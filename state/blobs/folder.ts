import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, readdir, rename, stat, unlink, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import type { BlobHash, BlobShelf, ShelvedBlob } from './blob-store.ts'
import type { PackedBlob } from './draft.ts'

/** Folders by the first byte of the hash: a few thousand files in each at a million blobs. */
const PREFIX_LENGTH = 2
const BLOB = '.zst'
/** Shorter files are read in one go: a stream would cost several times as much as they do. */
const AT_ONCE_BYTES = 65_536
/** A blob that a sweep looks at once more; one that is found under this name was left by a sweep that was killed. */
const ASIDE = '.aside'
const BLOB_NAME = /^[0-9a-f]{64}\.zst$/
const ASIDE_NAME = /^[0-9a-f]{64}\.aside$/

/** Drafts lie on the same file system, so that they can be renamed. */
export function draftFolderOf(root: string): string {
  return join(root, 'drafts')
}

/** Blobs in a folder: `<root>/<first byte>/<hash>.zst`, the time of the last touch as the file's time. */
export function folderShelf(root: string): BlobShelf {
  const drafts = draftFolderOf(root)

  const pathOf = (hash: BlobHash, suffix: string = BLOB) => join(root, hash.slice(0, PREFIX_LENGTH), hash + suffix)

  async function touch(hash: BlobHash): Promise<boolean> {
    const path = pathOf(hash)
    const now = new Date()
    if ((await unlessAbsent(utimes(path, now, now).then(() => true))) === undefined) return false
    // Whoever renamed it here may not have come to this yet.
    await syncFolder(dirname(path))
    return true
  }

  async function put(hash: BlobHash, blob: PackedBlob): Promise<void> {
    const path = pathOf(hash)
    const folder = dirname(path)
    if ((await mkdir(folder, { recursive: true })) !== undefined) await syncFolder(root)
    if (blob.kind === 'file') await rename(blob.path, path)
    else await writeAside(blob.bytes, path)
    await syncFolder(folder)
  }

  /** 1 write to a temporary name, 2 fsync, 3 rename; the caller's 4 makes the name durable. */
  async function writeAside(bytes: Uint8Array, path: string): Promise<void> {
    await mkdir(drafts, { recursive: true })
    const draft = join(drafts, `${randomUUID()}.draft`)
    const file = await open(draft, 'wx')
    try {
      await file.writeFile(bytes)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(draft, path)
  }

  async function openBlob(hash: BlobHash): Promise<Readable | Buffer | undefined> {
    const file = await unlessAbsent(open(pathOf(hash), 'r'))
    if (file === undefined) return undefined
    try {
      const { size } = await file.stat()
      // The stream closes it.
      if (size > AT_ONCE_BYTES) return createReadStream('', { fd: file, start: 0, autoClose: true })
      const bytes = Buffer.allocUnsafe(size)
      const { bytesRead } = await file.read(bytes, 0, size, 0)
      await file.close()
      return bytes.subarray(0, bytesRead)
    } catch (error) {
      await file.close()
      throw error
    }
  }

  async function* list(): AsyncGenerator<ShelvedBlob> {
    for (const prefix of await namesIn(root)) {
      if (prefix.length !== PREFIX_LENGTH) continue
      for (const name of await namesIn(join(root, prefix))) {
        const path = join(root, prefix, name)
        if (ASIDE_NAME.test(name)) await unlessAbsent(rename(path, path.replace(ASIDE, BLOB)))
        if (!BLOB_NAME.test(name)) continue
        const found = await unlessAbsent(stat(path))
        if (found !== undefined) yield { hash: name.slice(0, -BLOB.length), touchedAt: found.mtimeMs }
      }
    }
  }

  /**
   * Out of the way first, then the last look: whoever touches it between the two either changes the time that is looked at, or finds
   * nothing and puts it again.
   */
  async function removeUntouched(hash: BlobHash, before: number): Promise<boolean> {
    const aside = pathOf(hash, ASIDE)
    if ((await unlessAbsent(rename(pathOf(hash), aside).then(() => true))) === undefined) return false
    const { mtimeMs } = await stat(aside)
    if (mtimeMs >= before) {
      await rename(aside, pathOf(hash))
      return false
    }
    await unlink(aside)
    return true
  }

  return { touch, put, open: openBlob, list, removeUntouched }
}

/** Deletes drafts that were last written before (epoch ms): their writers are gone. @returns how many */
export async function removeOldDrafts(folder: string, before: number): Promise<number> {
  let removed = 0
  for (const name of await namesIn(folder)) {
    const path = join(folder, name)
    const found = await unlessAbsent(stat(path))
    if (found === undefined || found.mtimeMs >= before) continue
    await unlessAbsent(unlink(path))
    removed++
  }
  return removed
}

async function namesIn(folder: string): Promise<string[]> {
  return (await unlessAbsent(readdir(folder))) ?? []
}

/** A rename is durable when its folder is. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function unlessAbsent<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
