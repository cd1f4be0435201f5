import { setImmediate as otherWork } from 'node:timers/promises'

/**
 * Number of columns eliminated between two pauses. With 256 rows, this takes about two milliseconds. Requests are
 * answered during the pauses.
 */
const COLUMNS_AT_ONCE = 16

/**
 * Inverts a symmetric positive definite matrix (row-major) by Gauss-Jordan elimination. This kind of matrix needs
 * no pivoting.
 * @throws Error if the matrix is not positive definite
 */
export async function inverseOf(matrix: Float64Array, size: number): Promise<Float64Array> {
  const out = Float64Array.from(matrix)
  for (let pivot = 0; pivot < size; pivot++) {
    const start = pivot * size
    const value = out[start + pivot]
    if (!(value > 0)) throw new Error('the matrix is not positive definite')
    out[start + pivot] = 1
    for (let column = 0; column < size; column++) out[start + column] /= value
    for (let row = 0; row < size; row++) {
      if (row === pivot) continue
      const at = row * size
      const factor = out[at + pivot]
      out[at + pivot] = 0
      for (let column = 0; column < size; column++) out[at + column] -= factor * out[start + column]
    }
    if (pivot % COLUMNS_AT_ONCE === COLUMNS_AT_ONCE - 1) await otherWork()
  }
  return out
}
