/** Vectors as 8-bit numbers. */
export interface EightBitVectors {
  /**
   * The vectors one after another. They are at the start of a buffer, because `exactSearch` ignores the offset of a
   * view.
   */
  readonly numbers: Int8Array
  /** The row of each vector. */
  readonly rows: Uint32Array
  /** The factor by which the damped vectors were multiplied before they were rounded. */
  readonly scale: number
}

/** Largest signed 8-bit number. */
export const MOST_NUMBER = 127

/** Writes a vector as 8-bit numbers, starting at `start`. Each value is multiplied by `scale` and rounded. */
export function writeNumbers(vector: Float32Array, scale: number, numbers: Int8Array, start: number): void {
  for (let at = 0; at < vector.length; at++) numbers[start + at] = Math.round(vector[at] * scale)
}

/** Returns the greatest absolute value in a vector. */
export function greatestOf(vector: Float32Array): number {
  let most = 0
  for (const value of vector) most = Math.max(most, Math.abs(value))
  return most
}

/**
 * Returns the factor that damps a vector. The length of a damped vector is the square root of its original length. With
 * their full lengths, short vectors would be rounded to only a few different numbers and lose their directions. With
 * equal lengths, a comparison would rank only by direction.
 * @param length the length of the vector
 */
export function dampingOf(length: number): number {
  return length === 0 ? 0 : 1 / Math.sqrt(length)
}
