import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { pipeline, Readable } from 'node:stream'
import { createZstdDecompress, zstdDecompressSync } from 'node:zlib'
import { PLAIN_MAGIC, STAMP_BYTES } from './draft.ts'

/**
 * Thrown when stored bytes do not match the hash of the blob, because the disk or the bucket has damaged or replaced
 * the bytes.
 */
export class BlobCorruptError extends Error {
  override readonly name = 'BlobCorruptError'
  constructor(hash: string, cause?: unknown) {
    super(`blob ${hash} is damaged: restore it from a backup, or remove it and put the same content again`, { cause })
  }
}

/**
 * Content up to this size is unpacked in one call. The call takes a fraction of a millisecond. Longer content is
 * streamed.
 */
const AT_ONCE_BYTES = 262_144
/**
 * Size of a piece. Each piece costs a round trip to the thread pool and a write. Pieces of 64 KiB halve this cost
 * compared with zlib's default of 16 KiB, and still take only a fraction of a millisecond each.
 */
const PIECE_BYTES = 65_536

/** Unpacks a blob. The last piece is held back until the hash of the whole content has been verified. */
export async function* readBlob(hash: string, packed: Readable | Buffer): AsyncGenerator<Buffer, void, undefined> {
  const whole = Buffer.isBuffer(packed) ? unpackedAtOnce(hash, packed) : undefined
  if (whole === undefined) return yield* streamed(hash, Buffer.isBuffer(packed) ? Readable.from([packed]) : packed)
  if (createHash('sha256').update(whole).digest('hex') !== hash) throw new BlobCorruptError(hash)
  yield whole
}

/** @returns undefined when the content is longer than AT_ONCE_BYTES */
function unpackedAtOnce(hash: string, packed: Buffer): Buffer | undefined {
  if (isPlain(packed)) return packed.subarray(STAMP_BYTES)
  try {
    return zstdDecompressSync(packed, { maxOutputLength: AT_ONCE_BYTES, chunkSize: PIECE_BYTES })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') return undefined
    throw new BlobCorruptError(hash, error)
  }
}

/** Returns true if the stored bytes are a stamp followed by uncompressed content. */
function isPlain(head: Buffer): boolean {
  return head.byteLength >= STAMP_BYTES && head.readUInt32LE(0) === PLAIN_MAGIC
}

async function unpackedStream(packed: Readable): Promise<Readable> {
  const head = await firstBytes(packed)
  if (isPlain(head)) return packed
  // A stream that has ended takes nothing back.
  const whole = head.byteLength < STAMP_BYTES ? Readable.from([head]) : packed
  if (whole === packed) packed.unshift(head)
  return pipeline(whole, createZstdDecompress({ chunkSize: PIECE_BYTES }), () => undefined)
}

/** Reads as many bytes as a stamp has, or fewer if the stream ends earlier. */
async function firstBytes(stream: Readable): Promise<Buffer> {
  const pieces: Buffer[] = []
  for (let needed = STAMP_BYTES; needed > 0; ) {
    // Asking for more bytes than have arrived would leave them in the stream. The event `readable` would then occur at
    // once, again and again, and the process could do nothing else.
    const piece: Buffer | null = stream.read(Math.min(needed, Math.max(1, stream.readableLength)))
    if (piece !== null) {
      pieces.push(piece)
      needed -= piece.byteLength
      continue
    }
    if (stream.readableEnded) break
    // The stream may have failed before it had a listener. It then emits no further event.
    if (stream.destroyed) throw stream.errored ?? new Error('the stream was closed')
    const waiting = new AbortController()
    try {
      await Promise.race(['readable', 'end', 'close'].map((event) => once(stream, event, waiting)))
    } finally {
      waiting.abort()
    }
  }
  return Buffer.concat(pieces)
}

async function* streamed(hash: string, packed: Readable): AsyncGenerator<Buffer, void, undefined> {
  const digest = createHash('sha256')
  const unpacked = await unpackedStream(packed)
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
