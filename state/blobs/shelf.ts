import type { Readable } from 'node:stream'
import type { PackedBlob } from './draft.ts'

/** Hex SHA-256 of the content. It is both the blob's name and its checksum. */
export type BlobHash = string

/**
 * The place where blobs are stored: a folder or a bucket. Blobs are immutable; storing the same content again only
 * renews the time of the last touch.
 */
export interface BlobShelf {
  /**
   * Sets the time of the blob's last touch to now. A shelf that cannot do this only checks whether the last touch was
   * recent.
   * @returns false when the blob is not stored, or must be stored again to renew its last touch
   */
  touch(hash: BlobHash): Promise<boolean>
  /**
   * Stores a blob atomically. When the promise resolves, the blob is complete and durable. If it rejects, the blob may
   * be missing, but is never incomplete.
   */
  put(hash: BlobHash, blob: PackedBlob): Promise<void>
  /** Returns the packed bytes as a stream or as one buffer; undefined when the blob is not stored. */
  open(hash: BlobHash): Promise<Readable | Buffer | undefined>
  list(): AsyncIterable<ShelvedBlob>
  /**
   * Removes the blob unless it was touched or put at `before` (epoch ms) or later.
   * @returns whether the blob was removed
   */
  removeUntouched(hash: BlobHash, before: number): Promise<boolean>
}

export interface ShelvedBlob {
  readonly hash: BlobHash
  /** Epoch ms. */
  readonly touchedAt: number
}
