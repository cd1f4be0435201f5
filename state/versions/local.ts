import { randomUUID } from 'node:crypto'
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type BlobStore, BlobsUnavailableError, type OpenBlob } from '../blobs/blob-store.ts'
import { fileDigest } from './file-digest.ts'
import { checkVersion, type FileVersion, type VersionFile, VersionRefusedError } from './version.ts'

/**
 * Versions in a folder of this host. Processes of the host may share the folder, and then open the same files.
 */
export interface LocalVersions {
  /**
   * Returns the folder of a version. Its files are complete and match their hashes. If the folder already exists, its
   * files are verified again. If one of them is damaged or missing, all files are fetched again.
   * @throws VersionRefusedError when the record is invalid, or a stored blob does not have the length in the record
   * @throws BlobCorruptError when a stored blob is damaged
   * @throws BlobsUnavailableError when a blob is missing or the store does not respond; a retry may help
   */
  fetch(version: FileVersion): Promise<string>
  /**
   * Removes all versions except the given ones, and partial folders that a killed process left more than an hour ago.
   * Open files stay readable.
   */
  keepOnly(versions: readonly FileVersion[]): Promise<void>
}

export interface LocalVersionsOptions {
  readonly blobs: Pick<BlobStore, 'open'>
  readonly folder: string
  /** Epoch ms. */
  now(): number
}

/** Prefix of the names of complete folders. Only these and partial folders are ever removed. */
const COMPLETE = 'version-'
/** Prefix of the names of folders that are being written. */
const PARTIAL = '.partial-'
/**
 * Number of attempts to move a folder into place. An attempt fails if a folder is already there. If that folder is
 * damaged, it is set aside before the next attempt.
 */
const SETTLE_ATTEMPTS = 5
/** A partial folder counts as abandoned by its writer if the last write is older than this. */
const ABANDONED_MS = 3_600_000

export function localVersions({ blobs, folder, now }: LocalVersionsOptions): LocalVersions {
  /** Fetches one file and makes it durable. */
  async function fetchFile(into: string, file: VersionFile): Promise<void> {
    const blob = await blobs.open(file.hash)
    if (blob === undefined) throw new BlobsUnavailableError(`the blob ${file.hash} of ${file.name} is not stored`)
    try {
      await write(join(into, file.name), blob, file)
    } finally {
      blob.close()
    }
  }

  async function write(path: string, blob: OpenBlob, { name, bytes }: VersionFile): Promise<void> {
    const file = await open(path, 'wx')
    try {
      let written = 0
      for await (const piece of blob.content()) {
        written += piece.byteLength
        if (written > bytes) break
        await file.writeFile(piece)
      }
      if (written !== bytes)
        throw new VersionRefusedError(`The file ${name} does not have the length of ${bytes} bytes that its version declares.`)
      await file.sync()
    } finally {
      await file.close()
    }
  }

  /** Moves a complete folder into place, unless an intact folder of another process is already there. */
  async function settle(partial: string, place: string, files: readonly VersionFile[]): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await rename(partial, place)
      } catch (error) {
        if (!isOccupied(error) || attempt === SETTLE_ATTEMPTS) throw error
      }
      if (await isIntact(place, files)) return
      await setAside(place)
    }
  }

  /**
   * Removes a damaged version atomically. Processes that have opened its files can use them until they open another
   * version.
   */
  async function setAside(place: string): Promise<void> {
    const aside = join(folder, `${PARTIAL}${randomUUID()}`)
    try {
      await rename(place, aside)
    } catch (error) {
      if (isMissing(error)) return
      throw error
    }
    await rm(aside, { recursive: true, force: true })
  }

  return {
    async fetch(version) {
      checkVersion(version)
      const place = join(folder, `${COMPLETE}${version.version}`)
      if (await isIntact(place, version.files)) return place
      const partial = join(folder, `${PARTIAL}${randomUUID()}`)
      await mkdir(partial, { recursive: true })
      try {
        for (const file of version.files) await fetchFile(partial, file)
        await syncFolder(partial)
        await settle(partial, place, version.files)
        await syncFolder(folder)
      } finally {
        await rm(partial, { recursive: true, force: true })
      }
      return place
    },

    async keepOnly(versions) {
      const kept = new Set(versions.map(({ version }) => `${COMPLETE}${version}`))
      for (const name of await readdir(folder).catch(() => [])) {
        const path = join(folder, name)
        const isOld = name.startsWith(PARTIAL) ? await isAbandoned(path, now()) : name.startsWith(COMPLETE) && !kept.has(name)
        if (isOld) await rm(path, { recursive: true, force: true })
      }
    },
  }
}

async function isAbandoned(partial: string, now: number): Promise<boolean> {
  try {
    const names = await readdir(partial)
    const written = await Promise.all(
      [partial, ...names.map((name) => join(partial, name))].map(async (path) => (await stat(path)).mtimeMs),
    )
    return Math.max(...written) < now - ABANDONED_MS
  } catch (error) {
    // The folder is gone, because its writer has just moved it into place.
    if (isMissing(error)) return false
    throw error
  }
}

async function isIntact(place: string, files: readonly VersionFile[]): Promise<boolean> {
  try {
    for (const { name, hash, bytes } of files) {
      const path = join(place, name)
      if ((await stat(path)).size !== bytes || (await fileDigest(path)).sha256 !== hash) return false
    }
    return true
  } catch (error) {
    if (isMissing(error)) return false
    throw error
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path)
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'
}

function isOccupied(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === 'ENOTEMPTY' || code === 'EEXIST'
}
