/**
 * State that generated code shares with its helpers. A helper returns its main result, and stores the other results
 * here, so that it need not allocate an object for them.
 */
export interface Cursor {
  /** Position after the last value that was read; -1 if the value was malformed. */
  at: number
  /** The reason why the last malformed value was rejected. A valid value does not reset it. */
  why: string
  /**
   * Number of array items that took no bytes, counted so far in this value. The remaining bytes do not bound this
   * number, so it has a separate limit.
   */
  emptyItems: number
}

export const cursor: Cursor = { at: 0, why: '', emptyItems: 0 }

/** One BigInt and its two halves in the same memory. This is the cheapest way to convert between them. */
export const int64 = new BigInt64Array(1)
export const halves = new Uint32Array(int64.buffer)
const LITTLE_ENDIAN = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1
export const LOW_HALF = LITTLE_ENDIAN ? 0 : 1
export const HIGH_HALF = 1 - LOW_HALF

export const float32 = new Float32Array(1)
export const float32Bits = new Uint32Array(float32.buffer)
export const float64 = new Float64Array(1)
export const float64Bits = new Uint32Array(float64.buffer)

/** The eighth bit of a varint's byte. If it is set, more bytes follow. The other seven bits store the value. */
export const CONTINUES = 0x80
export const LOW_7_BITS = 0x7f
/** Number of bits in four groups of seven bits. No more groups fit into a small integer of V8. */
export const LOW_GROUPS_BITS = 28
export const TWO_TO_27 = 2 ** 27
export const ASCII_END = 0x80
