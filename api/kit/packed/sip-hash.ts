/** The four 32-bit words of a hash. The next call of the hash function overwrites the array. */
export type Hash128 = Int32Array

export const SIP_KEY_BYTES = 16
const BLOCK_BYTES = 8
const COMPRESSION_ROUNDS = 2
const FINAL_ROUNDS = 4
const BITS_PER_BYTE = 8
const TOP_BYTE_SHIFT = 24
/**
 * Constants used at the start and before each half of the result. They distinguish the 128-bit variant from the 64-bit
 * variant.
 */
const WIDE = 0xee
const SECOND_HALF = 0xdd

/**
 * Creates SipHash-2-4 with 128 bits (Aumasson and Bernstein, 2012). An attacker without the key cannot find inputs with
 * equal hashes. The function is fast for the short keys of records. Each 64-bit word is two 32-bit halves, because
 * JavaScript has no fast 64-bit integers.
 * @param key `SIP_KEY_BYTES` secret bytes
 */
export function sipHash128(key: Uint8Array): (bytes: Uint8Array, start: number, end: number) => Hash128 {
  const keyWords = new DataView(key.buffer, key.byteOffset, SIP_KEY_BYTES)
  const [k0l, k0h, k1l, k1h] = [0, 4, 8, 12].map((at) => keyWords.getInt32(at, true))
  const out = new Int32Array(4)

  return function hash(bytes, start, end) {
    const length = end - start
    const wholeBlocks = Math.floor(length / BLOCK_BYTES)
    let v0l = k0l ^ 0x70736575
    let v0h = k0h ^ 0x736f6d65
    let v1l = k1l ^ 0x6e646f6d ^ WIDE
    let v1h = k1h ^ 0x646f7261
    let v2l = k0l ^ 0x6e657261
    let v2h = k0h ^ 0x6c796765
    let v3l = k1l ^ 0x79746573
    let v3h = k1h ^ 0x74656462
    let at = start
    // First, all blocks are processed; the last block contains the length. Then the two halves of the result are
    // computed.
    for (let step = 0; step <= wholeBlocks + 2; step++) {
      let low = 0
      let high = 0
      let rounds = COMPRESSION_ROUNDS
      if (step < wholeBlocks) {
        low = bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24)
        high = bytes[at + 4] | (bytes[at + 5] << 8) | (bytes[at + 6] << 16) | (bytes[at + 7] << 24)
        at += BLOCK_BYTES
      } else if (step === wholeBlocks) {
        high = length << TOP_BYTE_SHIFT
        for (let index = 0; at + index < end; index++) {
          if (index < 4) low |= bytes[at + index] << (index * BITS_PER_BYTE)
          else high |= bytes[at + index] << ((index - 4) * BITS_PER_BYTE)
        }
      } else if (step === wholeBlocks + 1) {
        v2l ^= WIDE
        rounds = FINAL_ROUNDS
      } else {
        v1l ^= SECOND_HALF
        rounds = FINAL_ROUNDS
      }
      v3l ^= low
      v3h ^= high
      for (let round = 0; round < rounds; round++) {
        let sum = (v0l + v1l) | 0
        v0h = (v0h + v1h + (((v0l & v1l) | ((v0l | v1l) & ~sum)) >>> 31)) | 0
        v0l = sum
        let turned = (v1l << 13) | (v1h >>> 19)
        v1h = (v1h << 13) | (v1l >>> 19)
        v1l = turned
        v1l ^= v0l
        v1h ^= v0h
        turned = v0l
        v0l = v0h
        v0h = turned
        sum = (v2l + v3l) | 0
        v2h = (v2h + v3h + (((v2l & v3l) | ((v2l | v3l) & ~sum)) >>> 31)) | 0
        v2l = sum
        turned = (v3l << 16) | (v3h >>> 16)
        v3h = (v3h << 16) | (v3l >>> 16)
        v3l = turned
        v3l ^= v2l
        v3h ^= v2h
        sum = (v0l + v3l) | 0
        v0h = (v0h + v3h + (((v0l & v3l) | ((v0l | v3l) & ~sum)) >>> 31)) | 0
        v0l = sum
        turned = (v3l << 21) | (v3h >>> 11)
        v3h = (v3h << 21) | (v3l >>> 11)
        v3l = turned
        v3l ^= v0l
        v3h ^= v0h
        sum = (v2l + v1l) | 0
        v2h = (v2h + v1h + (((v2l & v1l) | ((v2l | v1l) & ~sum)) >>> 31)) | 0
        v2l = sum
        turned = (v1l << 17) | (v1h >>> 15)
        v1h = (v1h << 17) | (v1l >>> 15)
        v1l = turned
        v1l ^= v2l
        v1h ^= v2h
        turned = v2l
        v2l = v2h
        v2h = turned
      }
      v0l ^= low
      v0h ^= high
      if (step > wholeBlocks) {
        const half = (step - wholeBlocks - 1) * 2
        out[half] = v0l ^ v1l ^ v2l ^ v3l
        out[half + 1] = v0h ^ v1h ^ v2h ^ v3h
      }
    }
    return out
  }
}
