import { copyFile, type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'

/** The file operations of the spool and of snapshots. Tests replace them. */
export interface SpoolFiles {
  /** Creates the file. Fails if it exists. */
  create(path: string): Promise<SpoolFile>
  open(path: string): Promise<SpoolFile>
  /** Ensures that changes to the file names in a folder survive a loss of power. */
  syncFolder(path: string): Promise<void>
  makeFolder(path: string): Promise<void>
  rename(from: string, to: string): Promise<void>
  /**
   * Copies a file, and replaces an existing file. The content of the copy survives a loss of power, but its name may
   * not.
   */
  copy(from: string, to: string): Promise<void>
  list(path: string): Promise<string[]>
  /** Returns when the file was last written, epoch ms; undefined if it does not exist. */
  writtenAt(path: string): Promise<number | undefined>
  /** Removes a file or folder, if it exists. */
  remove(path: string): Promise<void>
}

export interface SpoolFile {
  size(): Promise<number>
  /**
   * Fills the buffer. Returns the number of bytes read. This number is smaller than the buffer only at the end of the
   * file.
   */
  read(into: Buffer, position: number): Promise<number>
  /** Writes the whole buffer. If writing fails, any part of the buffer may have been written. */
  write(bytes: Buffer, position: number): Promise<void>
  /** Resolves when everything that was written before the call survives a loss of power. */
  datasync(): Promise<void>
  truncate(length: number): Promise<void>
  close(): Promise<void>
}

/** File mode. Swipes and payments are private, so only the API's own user may read the files. */
const PRIVATE_FILE = 0o600
const PRIVATE_FOLDER = 0o700

export const diskFiles: SpoolFiles = {
  create: async (path) => spoolFile(await open(path, 'wx+', PRIVATE_FILE)),
  open: async (path) => spoolFile(await open(path, 'r+')),
  async syncFolder(path) {
    const folder = await open(path, 'r')
    try {
      await folder.sync()
    } finally {
      await folder.close()
    }
  },
  async makeFolder(path) {
    await mkdir(path, { recursive: true, mode: PRIVATE_FOLDER })
  },
  rename,
  async copy(from, to) {
    await copyFile(from, to)
    const file = await open(to, 'r+')
    try {
      await file.sync()
    } finally {
      await file.close()
    }
  },
  list: (path) => readdir(path),
  async writtenAt(path) {
    try {
      return (await stat(path)).mtimeMs
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw error
    }
  },
  // Deletion is retried, because another process may create a lock file in the folder at the same time.
  remove: (path) => rm(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 10 }),
}

function spoolFile(handle: FileHandle): SpoolFile {
  return {
    size: async () => (await handle.stat()).size,
    async read(into, position) {
      let done = 0
      while (done < into.length) {
        const { bytesRead } = await handle.read(into, done, into.length - done, position + done)
        if (bytesRead === 0) break
        done += bytesRead
      }
      return done
    },
    async write(bytes, position) {
      let done = 0
      while (done < bytes.length) done += (await handle.write(bytes, done, bytes.length - done, position + done)).bytesWritten
    },
    datasync: () => handle.datasync(),
    truncate: (length) => handle.truncate(length),
    close: () => handle.close(),
  }
}
