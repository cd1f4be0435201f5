/**
 * Number of bytes up to which a loop is faster than `Buffer.copy`. A loop takes about 1 ns per byte, and a call of
 * `Buffer.copy` takes 70 ns for any short range (AMD EPYC, Node 24).
 */
const SHORT_COPY_BYTES = 48

/**
 * Copies the bytes [start, end) to position `at` of `to`, which must have room for them. Allocates nothing, unlike
 * `set` with a subarray. The two ranges must not overlap.
 * @returns the position after the copy in `to`
 */
export function copyBytes(from: Uint8Array, start: number, end: number, to: Uint8Array, at: number): number {
  if (end - start > SHORT_COPY_BYTES) Buffer.prototype.copy.call(from, to, at, start, end)
  else for (let i = start, target = at; i < end; i++, target++) to[target] = from[i]
  return at + end - start
}
