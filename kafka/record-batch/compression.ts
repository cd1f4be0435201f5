import { compressionsAlgorithms } from '../client/protocol.ts'
import { TransportError } from '../transport.ts'

/** The codecs of record batches, in the order of their numbers in the attributes. */
export const CODECS = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const
export type Codec = (typeof CODECS)[number]

export function compress(codec: Codec, data: Buffer): Buffer {
  return compressionsAlgorithms[codec].compressSync(data)
}

/** @throws TransportError with code CORRUPT_BATCH */
export function decompress(codecNumber: number, data: Buffer): Buffer {
  const codec = CODECS[codecNumber]
  if (codec === undefined) {
    throw new TransportError('CORRUPT_BATCH', `unknown compression codec ${codecNumber} in a record batch`, { fatal: true })
  }
  try {
    return compressionsAlgorithms[codec].decompressSync(data)
  } catch (cause) {
    throw new TransportError('CORRUPT_BATCH', `a record batch does not decompress as ${codec}`, { fatal: true, cause })
  }
}
