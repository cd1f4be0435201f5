import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import type { BlobHash, BlobShelf } from './shelf.ts'

/**
 * Stores bytes that are derived from blobs, such as smaller versions of images. The bytes can be derived again at any
 * time.
 */
export interface DerivedStore {
  /** @returns undefined if the bytes are not stored or are damaged */
  get(hash: BlobHash, form: string): Promise<Buffer | undefined>
  put(hash: BlobHash, form: string, bytes: Buffer): Promise<void>
  remove(hash: BlobHash, forms: readonly string[]): Promise<void>
}

const CHECKSUM_BYTES = 32

/** Stores each derived form under a name that combines the blob's hash and the form. A checksum precedes the bytes. */
export function derivedStore(shelf: BlobShelf): DerivedStore {
  return {
    async get(hash, form) {
      const found = await shelf.open(nameOf(hash, form))
      if (found === undefined) return undefined
      const stored = Buffer.isBuffer(found) ? found : await wholeOf(found)
      const bytes = stored.subarray(CHECKSUM_BYTES)
      return checksumOf(bytes).equals(stored.subarray(0, CHECKSUM_BYTES)) ? bytes : undefined
    },
    async put(hash, form, bytes) {
      await shelf.put(nameOf(hash, form), { kind: 'memory', bytes: Buffer.concat([checksumOf(bytes), bytes]) })
    },
    async remove(hash, forms) {
      for (const form of forms) await shelf.removeUntouched(nameOf(hash, form), Number.MAX_SAFE_INTEGER)
    },
  }
}

function nameOf(hash: BlobHash, form: string): BlobHash {
  return createHash('sha256').update(`${hash} ${form}`).digest('hex')
}

function checksumOf(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes).digest()
}

async function wholeOf(stream: Readable): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of stream) pieces.push(piece as Buffer)
  return Buffer.concat(pieces)
}
