/**
 * Where reading helpers leave their second result, and the memory through which 64-bit integers and floats are taken
 * apart: generated code and its helpers share these, so that nothing is allocated per value.
 */
export interface Cursor {
  /** Position after the value read last; -1 when it was malformed. */
  at: number
  /** Why the value read or written last does not fit. */
  why: string
  /** Array items that took no bytes so far in this value: bounded, because no remaining bytes bound their count. */
  emptyItems: number
}

export const cursor: Cursor = { at: 0, why: '', emptyItems: 0 }

/** One BigInt and its halves: converting through memory is the cheapest way between the two. */
export const int64 = new BigInt64Array(1)
export const halves = new Uint32Array(int64.buffer)
const LITTLE_ENDIAN = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1
export const LOW_HALF = LITTLE_ENDIAN ? 0 : 1
export const HIGH_HALF = 1 - LOW_HALF

export const float32 = new Float32Array(1)
export const float32Bits = new Uint32Array(float32.buffer)
export const float64 = new Float64Array(1)
export const float64Bits = new Uint32Array(float64.buffer)

/** Varints: seven bits to a byte, the eighth says that more follow. */
export const CONTINUES = 0x80
export const LOW_7_BITS = 0x7f
/** Four groups of 7 bits: the most that stays a small integer. */
export const LOW_GROUPS_BITS = 28
export const TWO_TO_27 = 2 ** 27
export const ASCII_END = 0x80
