/** IEEE 754 half-precision numbers, which take two bytes each. */

const EXPONENT_BITS = 0x7c00
const FRACTION_BITS = 0x03ff
const FRACTION_LENGTH = 10
const BIAS = 15
const SMALLEST_NORMAL_EXPONENT = 1 - BIAS
const SIGN_BIT = 0x8000

/** Every half as a float: a look-up is several times as fast as computing. */
const FLOATS = Float32Array.from({ length: 1 << 16 }, (_, bits) => {
  const sign = bits & SIGN_BIT ? -1 : 1
  const exponent = (bits & EXPONENT_BITS) >> FRACTION_LENGTH
  const fraction = (bits & FRACTION_BITS) / 2 ** FRACTION_LENGTH
  if (isNoNumber(bits)) return Number.NaN
  return sign * (exponent === 0 ? 2 ** SMALLEST_NORMAL_EXPONENT * fraction : 2 ** (exponent - BIAS) * (1 + fraction))
})

/** Returns whether the half is infinite or NaN. */
export function isNoNumber(bits: number): boolean {
  return (bits & EXPONENT_BITS) === EXPONENT_BITS
}

/** Writes the halves from `start` on into `out`. */
export function toFloats(halves: Uint16Array, start: number, out: Float32Array): void {
  for (let at = 0; at < out.length; at++) out[at] = FLOATS[halves[start + at]]
}
