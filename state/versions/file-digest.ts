import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'

/** Size of a piece in bytes. Hashing a piece takes about a millisecond. */
const PIECE_BYTES = 1 << 20

/**
 * Hashes a file in pieces, all of which are read into the same buffer. A stream would allocate a buffer for each piece,
 * so that after hashing a file of a gigabyte, the process would hold tens of MB of unused memory.
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
