/** Largest signed 8-bit number. */
const MOST_NUMBER = 127

/**
 * Writes a vector as integers, starting at `start`. Its greatest absolute value becomes `most`.
 * @param most by default the largest 8-bit number
 * @returns the step of the vector: the value that the number 1 stands for
 */
export function writeNumbers(vector: Float32Array, numbers: Int8Array | Int16Array, start: number, most = MOST_NUMBER): number {
  let greatest = 0
  for (const value of vector) greatest = Math.max(greatest, Math.abs(value))
  const scale = greatest === 0 ? 0 : most / greatest
  for (let at = 0; at < vector.length; at++) numbers[start + at] = Math.round(vector[at] * scale)
  return greatest / most
}
