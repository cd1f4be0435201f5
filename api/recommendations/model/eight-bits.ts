/** Largest signed 8-bit number. */
const MOST_NUMBER = 127

/**
 * Writes a vector as 8-bit numbers, starting at `start`. Its greatest absolute value becomes the largest number.
 * @returns the step of the vector: the value that the number 1 stands for
 */
export function writeNumbers(vector: Float32Array, numbers: Int8Array, start: number): number {
  const greatest = greatestOf(vector)
  const scale = greatest === 0 ? 0 : MOST_NUMBER / greatest
  for (let at = 0; at < vector.length; at++) numbers[start + at] = Math.round(vector[at] * scale)
  return greatest / MOST_NUMBER
}

/** Returns the greatest absolute value in a vector. */
export function greatestOf(vector: Float32Array): number {
  let most = 0
  for (const value of vector) most = Math.max(most, Math.abs(value))
  return most
}
