/**
 * MD5 (RFC 1321) of inputs that fit into one block. It is faster than `node:crypto`, where the call costs more than the
 * hash.
 */

/** Maximum number of input bytes in one block. The padding and the length take the remaining bytes. */
export const MAX_SHORT_BYTES = 55

const BLOCK_WORDS = 16
const LENGTH_WORD = 14
const BITS_PER_BYTE_LOG2 = 3
const PADDING = 0x80
const ROUND_STEPS = 16
const STEPS = 4 * ROUND_STEPS
const UINT32_BITS = 32
const [A, B, C, D] = [0x67452301, 0xefcdab89 | 0, 0x98badcfe | 0, 0x10325476]

/** For each step: the constant, the word of the block and the left rotation. */
const SINES = Int32Array.from({ length: STEPS }, (_, step) => Math.floor(Math.abs(Math.sin(step + 1)) * 2 ** UINT32_BITS) | 0)
const WORDS = Uint8Array.from({ length: STEPS }, (_, step) => {
  const factors = [step, 5 * step + 1, 3 * step + 5, 7 * step]
  return factors[Math.floor(step / ROUND_STEPS)] % BLOCK_WORDS
})
const ROTATIONS = Uint8Array.from({ length: STEPS }, (_, step) => {
  const ofRound = [
    [7, 12, 17, 22],
    [5, 9, 14, 20],
    [4, 11, 16, 23],
    [6, 10, 15, 21],
  ]
  return ofRound[Math.floor(step / ROUND_STEPS)][step % 4]
})

const block = new Int32Array(BLOCK_WORDS)
const digest = new Uint32Array(2)

/**
 * Returns the first and the second four bytes (little-endian) of the MD5 of at most `MAX_SHORT_BYTES` bytes. The next
 * call overwrites the returned array.
 */
export function shortMd5(bytes: Uint8Array): Uint32Array {
  const { length } = bytes
  block.fill(0)
  for (let at = 0; at < length; at++) block[at >> 2] |= bytes[at] << ((at & 3) << BITS_PER_BYTE_LOG2)
  block[length >> 2] |= PADDING << ((length & 3) << BITS_PER_BYTE_LOG2)
  block[LENGTH_WORD] = length << BITS_PER_BYTE_LOG2
  // The variables are initialised one by one, because with `let [a, b, c, d] = [A, B, C, D]`, the compiled loop takes
  // four times as long.
  let a = A
  let b = B
  let c = C
  let d = D
  for (let step = 0; step < STEPS; step++) {
    const round = step >> 4
    const mixed = round === 0 ? d ^ (b & (c ^ d)) : round === 1 ? c ^ (d & (b ^ c)) : round === 2 ? b ^ c ^ d : c ^ (b | ~d)
    const sum = (a + mixed + SINES[step] + block[WORDS[step]]) | 0
    const rotation = ROTATIONS[step]
    a = d
    d = c
    c = b
    b = (b + ((sum << rotation) | (sum >>> (UINT32_BITS - rotation)))) | 0
  }
  digest[0] = a + A
  digest[1] = b + B
  return digest
}
