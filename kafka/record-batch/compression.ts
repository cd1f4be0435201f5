import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import { compressionsAlgorithms } from '../client/protocol.ts'
import { COMPRESSIONS, type Compression, TransportError } from '../transport.ts'
import { blocksOf, lz4UnpackedBytes } from './lz4-size.ts'
import { unpackLz4 } from './lz4-unpack.ts'
import { snappyUnpackedBytes } from './snappy-size.ts'

/** Maximum compression ratio of LZ4, which needs at least one byte for every 255 bytes of unpacked data. */
const LZ4_MAX_RATIO = 255
/**
 * Whether LZ4 data is unpacked with the protocol package, which is about twice as fast as `unpackLz4`. When the package
 * refuses data, it never frees the memory that it has allocated, up to several times the size of the batch. Its memory
 * is limited, so after a few hundred such batches, it would refuse all LZ4 and Snappy data. It is therefore not used
 * again after its first failure.
 */
let usesFastLz4 = true
/** The smallest `maxOutputLength` that Node accepts. */
const LEAST_MAX_OUTPUT = 1
/**
 * Maximum number of zstd frames in a batch. Node needs a new decompressor for each frame, which takes 0.1 ms. Without a
 * limit, a megabyte of tiny frames would block the event loop for ten seconds.
 */
const MAX_ZSTD_FRAMES = 1_000
/** The error code of Node's decompressors when their output exceeds `maxOutputLength`. */
const OUTPUT_TOO_LARGE = 'ERR_BUFFER_TOO_LARGE'

/** The result of Node's decompressors with the option `info`, which is missing in their type. */
interface UnpackedFrame {
  readonly buffer: Buffer
  /** `bytesWritten` is the size of the packed frame. */
  readonly engine: { readonly bytesWritten: number }
}

export function compress(codec: Compression, data: Buffer): Buffer {
  return compressionsAlgorithms[codec].compressSync(data)
}

/**
 * Unpacks data without allocating much more than `maxBytes`, because with some codecs a megabyte can unpack to
 * gigabytes.
 * @returns undefined when the data unpacks to more than `maxBytes`
 * @throws TransportError with code CORRUPT_BATCH for damaged data or an unknown codec
 */
export function decompress(codecNumber: number, data: Buffer, maxBytes: number): Buffer | undefined {
  const codec = COMPRESSIONS[codecNumber]
  if (codec === undefined) {
    throw new TransportError('CORRUPT_BATCH', `unknown compression codec ${codecNumber} in a record batch`, { fatal: true })
  }
  try {
    const unpacked = unpack(codec, data, maxBytes)
    return unpacked !== undefined && unpacked.length > maxBytes ? undefined : unpacked
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === OUTPUT_TOO_LARGE) return undefined
    throw new TransportError('CORRUPT_BATCH', `a record batch cannot be decompressed with ${codec}`, { fatal: true, cause })
  }
}

function unpack(codec: Compression, data: Buffer, maxBytes: number): Buffer | undefined {
  switch (codec) {
    case 'gzip':
      return gunzipSync(data, { maxOutputLength: Math.max(LEAST_MAX_OUTPUT, maxBytes) })
    case 'zstd':
      return unpackZstd(data, maxBytes)
    case 'snappy':
      return snappyUnpackedBytes(data) > maxBytes ? undefined : compressionsAlgorithms.snappy.decompressSync(data)
    case 'lz4':
      return data.length * LZ4_MAX_RATIO > maxBytes && lz4UnpackedBytes(data) > maxBytes ? undefined : fastOrOwnLz4(data, maxBytes)
    case 'none':
      return data
  }
}

/**
 * Unpacks all frames of the data. Node unpacks only the first frame and ignores the rest, but other Kafka clients
 * accept batches of several frames.
 * @throws RangeError for more than `MAX_ZSTD_FRAMES` frames
 */
function unpackZstd(data: Buffer, maxBytes: number): Buffer {
  const frames: Buffer[] = []
  let unpackedBytes = 0
  let at = 0
  do {
    if (frames.length === MAX_ZSTD_FRAMES) throw new RangeError(`the data consists of more than ${MAX_ZSTD_FRAMES} zstd frames`)
    const options = { maxOutputLength: Math.max(LEAST_MAX_OUTPUT, maxBytes - unpackedBytes), info: true }
    const { buffer, engine } = zstdDecompressSync(at === 0 ? data : data.subarray(at), options) as unknown as UnpackedFrame
    frames.push(buffer)
    unpackedBytes += buffer.length
    at += engine.bytesWritten
  } while (at < data.length)
  return frames.length === 1 ? frames[0] : Buffer.concat(frames)
}

/** The protocol package unpacks only the first frame and ignores the rest, so it gets only data of a single frame. */
function fastOrOwnLz4(data: Buffer, maxBytes: number): Buffer | undefined {
  if (usesFastLz4 && blocksOf(data, () => {}) === 1) {
    try {
      return compressionsAlgorithms.lz4.decompressSync(data)
    } catch {
      usesFastLz4 = false
    }
  }
  return unpackLz4(data, maxBytes)
}
