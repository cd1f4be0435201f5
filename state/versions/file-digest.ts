import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'

/** Number of bytes that are hashed at a time, in about a millisecond. */
const PIECE_BYTES = 1 << 20

/**
 * Hashes a file in pieces. All pieces are read into one buffer. With a stream, which allocates a buffer for each piece,
 * a file of a gigabyte would leave tens of MB of unused memory in the process.
 */
export async function fileDigest(path: string): Promise<{ readonly bytes: number; readonly sha256: string }> {
  const hash = createHash('sha256')
  const piece = Buffer.allocUnsafe(PIECE_BYTES)
  const file = await open(path)
  try {
    let bytes = 0
    for (;;) {
      const { bytesRead } = await file.read(piece, 0, PIECE_BYTES)
      if (bytesRead === 0) return { bytes, sha256: hash.digest('hex') }
      hash.update(piece.subarray(0, bytesRead))
      bytes += bytesRead
    }
  } finally {
    await file.close()
  }
}
