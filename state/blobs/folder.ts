import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, readdir, rename, stat, unlink, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import type { PackedBlob } from './draft.ts'
import type { BlobHash, BlobShelf, ShelvedBlob } from './shelf.ts'

/**
 * Blobs are grouped into folders by this number of leading characters of their hashes. With a million blobs, each
 * folder contains a few thousand files.
 */
const PREFIX_LENGTH = 2
const BLOB = '.zst'
/** Files up to this size are read in one call, because a stream costs several times as much. */
const AT_ONCE_BYTES = 65_536
/**
 * Number of read buffers that are kept for reuse: one per thread of libuv's pool, whose size `npm start` sets
 * (`UV_THREADPOOL_SIZE`).
 */
const MAX_SPACES = 16
/**
 * Suffix of a blob that a sweep has moved aside to check its time again. If another sweep finds a file with this
 * suffix, it puts the blob back, because the sweep that has moved it may have been killed.
 */
const ASIDE = '.aside'
const BLOB_NAME = /^[0-9a-f]{64}\.zst$/
const ASIDE_NAME = /^([0-9a-f]{64})(?:\.[0-9a-f-]{36})?\.aside$/

/**
 * Returns the folder for drafts. It is on the same file system as the blobs, so that a rename can move drafts into
 * place.
 */
export function draftFolderOf(root: string): string {
  return join(root, 'drafts')
}

/**
 * Stores blobs in a folder as `<root>/<first byte>/<hash>.zst`. A file's modification time is the time of the last
 * touch.
 */
export function folderShelf(root: string): BlobShelf {
  const drafts = draftFolderOf(root)
  /** Read buffers that are kept for reuse. Most blobs are far smaller than a buffer. */
  const spaces: Buffer[] = []

  const pathOf = (hash: BlobHash, suffix: string = BLOB) => join(root, hash.slice(0, PREFIX_LENGTH), hash + suffix)

  async function touch(hash: BlobHash): Promise<boolean> {
    const path = pathOf(hash)
    const now = new Date()
    if ((await unlessAbsent(utimes(path, now, now).then(() => true))) === undefined) return false
    // Another writer may have renamed the file to this name without having synced the folder yet.
    await syncFolder(dirname(path))
    return true
  }

  async function put(hash: BlobHash, blob: PackedBlob): Promise<void> {
    const path = pathOf(hash)
    const folder = dirname(path)
    const draft = blob.kind === 'file' ? blob.path : await writeDraft(blob.bytes)
    // The folder is missing only when its first blob is stored.
    if ((await unlessAbsent(rename(draft, path).then(() => true))) === undefined) {
      if ((await mkdir(folder, { recursive: true })) !== undefined) await syncFolder(root)
      await rename(draft, path)
    }
    await syncFolder(folder)
  }

  /**
   * Performs steps 1 and 2 of a put: writes the bytes to a draft and syncs it. The caller renames the draft (3) and
   * syncs the folder (4).
   * @returns the path of the draft
   */
  async function writeDraft(bytes: Uint8Array): Promise<string> {
    const draft = join(drafts, `${randomUUID()}.draft`)
    let file = await unlessAbsent(open(draft, 'wx'))
    if (file === undefined) {
      await mkdir(drafts, { recursive: true })
      file = await open(draft, 'wx')
    }
    try {
      await file.writeFile(bytes)
      await file.sync()
    } catch (error) {
      // A draft that is incomplete, for example because the disk is full, must not take up space until the next sweep.
      await unlink(draft).catch(() => undefined)
      throw error
    } finally {
      await file.close()
    }
    return draft
  }

  async function openBlob(hash: BlobHash): Promise<Readable | Buffer | undefined> {
    const file = await unlessAbsent(open(pathOf(hash), 'r'))
    if (file === undefined) return undefined
    // Reading one byte more than the limit shows whether the file is longer, and saves the extra round trip of a
    // `stat`.
    const space = spaces.pop() ?? Buffer.allocUnsafeSlow(AT_ONCE_BYTES + 1)
    try {
      const { bytesRead } = await file.read(space, 0, space.byteLength, 0)
      // The stream closes the file.
      if (bytesRead > AT_ONCE_BYTES) return createReadStream('', { fd: file, start: 0, autoClose: true })
      // The content is already read, so nothing needs to wait until the file is closed.
      void file.close().catch(() => undefined)
      return Buffer.from(space.subarray(0, bytesRead))
    } catch (error) {
      await file.close()
      throw error
    } finally {
      if (spaces.length < MAX_SPACES) spaces.push(space)
    }
  }

  async function* list(): AsyncGenerator<ShelvedBlob> {
    for (const prefix of await namesIn(root)) {
      if (prefix.length !== PREFIX_LENGTH) continue
      for (const name of await namesIn(join(root, prefix))) {
        const path = join(root, prefix, name)
        const [, aside] = ASIDE_NAME.exec(name) ?? []
        if (aside !== undefined) await putBack(path, pathOf(aside))
        if (!BLOB_NAME.test(name)) continue
        const found = await unlessAbsent(stat(path))
        if (found !== undefined) yield { hash: name.slice(0, -BLOB.length), touchedAt: found.mtimeMs }
      }
    }
  }

  /**
   * Puts back a blob that another sweep has moved aside. If the content was stored again meanwhile, the new file stays,
   * because its last touch is later.
   */
  async function putBack(aside: string, path: string): Promise<void> {
    const isStored = (await unlessAbsent(stat(path))) !== undefined
    await unlessAbsent(isStored ? unlink(aside) : rename(aside, path))
  }

  /**
   * Removes the blob unless it was touched at `before` or later. Moves the blob aside first and then checks its time. A
   * concurrent `touch` therefore either changes the time that is checked, or does not find the blob, so that its caller
   * stores the blob again. If another sweep puts the blob back meanwhile, the blob stays, because it may have been
   * touched since. The blob moved aside gets a unique name, so that this sweep never checks or deletes a file that
   * another sweep has moved aside.
   */
  async function removeUntouched(hash: BlobHash, before: number): Promise<boolean> {
    const aside = pathOf(hash, `.${randomUUID()}${ASIDE}`)
    if ((await unlessAbsent(rename(pathOf(hash), aside).then(() => true))) === undefined) return false
    const found = await unlessAbsent(stat(aside))
    if (found === undefined) return false
    if (found.mtimeMs >= before) {
      await unlessAbsent(rename(aside, pathOf(hash)))
      return false
    }
    return (await unlessAbsent(unlink(aside).then(() => true))) === true
  }

  return { touch, put, open: openBlob, list, removeUntouched }
}

/**
 * Deletes drafts that were last written before this time (epoch ms). Killed writers leave such drafts behind.
 * @returns how many drafts were deleted
 */
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

/** Syncs a folder. Without this, a rename in the folder is not durable. */
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
