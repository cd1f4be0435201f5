import type { Readable } from 'node:stream'
import type { PackedBlob } from './draft.ts'

/** Hex SHA-256 of the content: a blob's name and its checksum. */
export type BlobHash = string

/** Where blobs lie: a folder or a bucket. Blobs never change; a blob that is put again is the same. */
export interface BlobShelf {
  /** Marks the blob as wanted now. False: it is not here. */
  touch(hash: BlobHash): Promise<boolean>
  /** Whole and durable when this resolves, or not there at all. */
  put(hash: BlobHash, blob: PackedBlob): Promise<void>
  /** Its packed bytes, at once when they are few; undefined when it is not here. */
  open(hash: BlobHash): Promise<Readable | Buffer | undefined>
  list(): AsyncIterable<ShelvedBlob>
  /** Removes the blob unless it was touched or put at `before` (epoch ms) or later. @returns whether it was removed */
  removeUntouched(hash: BlobHash, before: number): Promise<boolean>
}

export interface ShelvedBlob {
  readonly hash: BlobHash
  /** Epoch ms. */
  readonly touchedAt: number
}
