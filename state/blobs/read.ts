import { createHash } from 'node:crypto'
import { pipeline, type Readable } from 'node:stream'
import { createZstdDecompress } from 'node:zlib'

/** What is stored under a hash is not what was put there: the disk or the bucket has damaged or exchanged it. */
export class BlobCorruptError extends Error {
  override readonly name = 'BlobCorruptError'
  constructor(hash: string, cause?: unknown) {
    super(`blob ${hash} is damaged: restore it from a backup, or put the same content again after removing it`, { cause })
  }
}

/** The content of packed bytes; the last piece is held back until the whole is known to have the hash. */
export async function* readBlob(hash: string, packed: Readable): AsyncGenerator<Buffer, void, undefined> {
  const digest = createHash('sha256')
  const unpacked = pipeline(packed, createZstdDecompress(), () => undefined)
  let held: Buffer | undefined
  try {
    for await (const piece of unpacked as unknown as AsyncIterable<Buffer>) {
      digest.update(piece)
      if (held !== undefined) yield held
      held = piece
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code?.startsWith('ZSTD_') || code === 'Z_BUF_ERROR' || code === 'ERR_ZSTD') throw new BlobCorruptError(hash, error)
    throw error
  }
  if (digest.digest('hex') !== hash) throw new BlobCorruptError(hash)
  if (held !== undefined) yield held
}
