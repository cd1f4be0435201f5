import { createHash } from 'node:crypto'
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
 * Maximum size of content that is unpacked in one call, if the shelf returns the packed bytes in one buffer. The call
 * takes a fraction of a millisecond. Other compressed content is streamed.
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
  if (whole === undefined) return yield* streamed(hash, Buffer.isBuffer(packed) ? Readable.from([packed], { objectMode: false }) : packed)
  if (createHash('sha256').update(whole).digest('hex') !== hash) throw new BlobCorruptError(hash)
  yield whole
}

/** @returns undefined when the content was compressed and is longer than AT_ONCE_BYTES */
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
  // Bytes cannot be put back into a stream that has ended.
  const hasEnded = head.byteLength < STAMP_BYTES
  if (!hasEnded) packed.unshift(head)
  return pipeline(hasEnded ? Readable.from([head]) : packed, createZstdDecompress({ chunkSize: PIECE_BYTES }), () => undefined)
}

/** Reads as many bytes as a stamp has, or fewer if the stream ends earlier. */
function firstBytes(stream: Readable): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  // The listener stays until enough bytes have arrived. The stream calls a new listener at once for the bytes that have
  // already arrived. If each wait added its own listener, the waits would therefore form a loop in which the stream
  // never receives more.
  function take(): void {
    const head: Buffer | null = stream.read(STAMP_BYTES)
    if (head !== null) done(head)
  }
  function done(head: Buffer): void {
    stream.off('readable', take).off('end', end).off('close', end).off('error', fail)
    resolve(head)
  }
  const end = () => done(Buffer.alloc(0))
  const fail = (error: Error) => reject(error)
  stream.on('readable', take).on('end', end).on('close', end).on('error', fail)
  return promise
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
