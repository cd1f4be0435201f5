import { createRequire } from 'node:module'
import { crc32c as portableCrc32c } from '../client/protocol.ts'

/**
 * Computes the CRC-32C of a buffer. The native implementation is called directly (14.7 GB/s on batches of 900 KB),
 * because the protocol package first copies its input (3.4 GB/s). Platforms without a native build use the package's
 * portable implementation.
 */
export const crc32c: (data: Uint8Array) => number =
  nativeCrc32c() ?? ((data) => portableCrc32c(Buffer.from(data.buffer, data.byteOffset, data.byteLength)) >>> 0)

function nativeCrc32c(): ((data: Uint8Array) => number) | undefined {
  try {
    const native = createRequire(import.meta.url)('@node-rs/crc32') as { crc32c(data: Uint8Array): number }
    return native.crc32c
  } catch {
    return undefined
  }
}
