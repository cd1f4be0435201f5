import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import type { BlobStore } from '../blobs/blob-store.ts'
import type { FileVersion, VersionFile } from './version.ts'
import { checkVersion } from './version.ts'

export interface PublishOptions {
  /** A store that does not compress, because compression hardly shrinks vectors. */
  readonly blobs: BlobStore
  /** The folder that holds the files. */
  readonly folder: string
  readonly names: readonly string[]
}

/**
 * Stores the files of a new version. Once the promise resolves, the files are durable, and the record that names them
 * may be written. If the process dies before it writes the record, nothing refers to the blobs.
 */
export async function publishFiles(id: Pick<FileVersion, 'version' | 'sequence'>, options: PublishOptions): Promise<FileVersion> {
  const { blobs, folder, names } = options
  const files: VersionFile[] = []
  for (const name of names) {
    const draft = blobs.draft()
    try {
      for await (const piece of createReadStream(join(folder, name))) await draft.write(piece as Buffer)
      files.push({ name, ...(await blobs.keep(draft)) })
    } finally {
      await draft.discard()
    }
  }
  const published = { ...id, files }
  checkVersion(published)
  return published
}
