import { inverseOf } from './inverse.ts'

export interface FoldIn {
  /**
   * Returns the user's factors, not normalised; undefined if there are no items.
   * @param factors one row per item: the item's factors
   * @param confidences the sum of the confidences of the interactions with each item, in the same order
   */
  solve(factors: Float32Array, confidences: readonly number[]): Float64Array | undefined
}

export interface FoldInDeps {
  /** Gram matrix of the item factors (YᵀY), row-major. */
  readonly gram: Float64Array
  /** Number of factors per item, a multiple of 4. */
  readonly dimensions: number
  readonly regularization: number
}

/** Maximum number of steps for one user. The solver stops earlier when the residual is small. */
const MAX_STEPS = 24
/**
 * Relative residual at which the solver stops, usually after three steps. The cosine between its result and the exact
 * solution is then above 0.9999.
 */
const SMALL_RESIDUAL = 1e-3

/**
 * Creates a solver that computes a user's factors from interactions, as `recalculate_user` of `implicit` does. The
 * factors are the least-squares solution of (YᵀY + λI + Σ (c − 1) y yᵀ) x = Σ c y. Solving the system directly would
 * take milliseconds, so the solver uses conjugate gradients. The preconditioner is the inverse of YᵀY + λI, which is
 * the same for all users. The more items there are, the less a single user adds to YᵀY, and the fewer steps the solver
 * needs (Golub and Van Loan, "Matrix Computations", 11.5).
 */
export async function foldIn({ gram, dimensions, regularization }: FoldInDeps): Promise<FoldIn> {
  const common = Float64Array.from(gram)
  for (let at = 0; at < common.length; at += dimensions + 1) common[at] += regularization
  const inverse = await inverseOf(common, dimensions)
  const residual = new Float64Array(dimensions)
  const conditioned = new Float64Array(dimensions)
  const direction = new Float64Array(dimensions)
  /** Products of the search direction with the common matrix YᵀY + λI, and with the whole matrix of the user. */
  const commonImage = new Float64Array(dimensions)
  const image = new Float64Array(dimensions)

  /**
   * Applies the preconditioner to the residual. Multiplying the result by the common matrix gives the residual again,
   * so `commonImage` needs no further matrix product.
   * @returns the dot product of the result and the residual
   */
  function condition(): number {
    let product = 0
    for (let row = 0; row < dimensions; row++) {
      conditioned[row] = rowProduct(inverse, row * dimensions, residual, dimensions)
      product += conditioned[row] * residual[row]
    }
    return product
  }

  function apply(factors: Float32Array, confidences: readonly number[]): void {
    image.set(commonImage)
    for (let item = 0, start = 0; item < confidences.length; item++, start += dimensions) {
      const product = (confidences[item] - 1) * productAt(factors, start, direction, dimensions)
      addAt(factors, start, product, image, dimensions)
    }
  }

  return {
    solve(factors, confidences) {
      if (confidences.length === 0) return undefined
      const solution = new Float64Array(dimensions)
      residual.fill(0)
      confidences.forEach((confidence, item) => void addAt(factors, item * dimensions, confidence, residual, dimensions))
      const enough = dot(residual, residual) * SMALL_RESIDUAL ** 2
      let product = condition()
      direction.set(conditioned)
      commonImage.set(residual)
      for (let step = 0; step < MAX_STEPS && product > 0; step++) {
        apply(factors, confidences)
        const length = product / dot(direction, image)
        for (let at = 0; at < dimensions; at++) {
          solution[at] += length * direction[at]
          residual[at] -= length * image[at]
        }
        if (dot(residual, residual) <= enough) break
        const next = condition()
        const share = next / product
        for (let at = 0; at < dimensions; at++) {
          direction[at] = conditioned[at] + share * direction[at]
          commonImage[at] = residual[at] + share * commonImage[at]
        }
        product = next
      }
      return solution
    },
  }
}

function dot(one: Float64Array, other: Float64Array): number {
  let sum = 0
  for (let at = 0; at < one.length; at++) sum += one[at] * other[at]
  return sum
}

/** Adds a multiple of a row to a vector. */
function addAt(factors: Float32Array, start: number, factor: number, out: Float64Array, length: number): void {
  for (let at = 0; at < length; at += 4) {
    out[at] += factor * factors[start + at]
    out[at + 1] += factor * factors[start + at + 1]
    out[at + 2] += factor * factors[start + at + 2]
    out[at + 3] += factor * factors[start + at + 3]
  }
}

// The following two functions compute four separate sums, because additions to the same sum would have to wait for each
// other. A single function for both kinds of arrays would take twice as long.

function rowProduct(matrix: Float64Array, start: number, vector: Float64Array, length: number): number {
  let [first, second, third, fourth] = [0, 0, 0, 0]
  for (let at = 0; at < length; at += 4) {
    first += matrix[start + at] * vector[at]
    second += matrix[start + at + 1] * vector[at + 1]
    third += matrix[start + at + 2] * vector[at + 2]
    fourth += matrix[start + at + 3] * vector[at + 3]
  }
  return first + second + (third + fourth)
}

function productAt(factors: Float32Array, start: number, vector: Float64Array, length: number): number {
  let [first, second, third, fourth] = [0, 0, 0, 0]
  for (let at = 0; at < length; at += 4) {
    first += factors[start + at] * vector[at]
    second += factors[start + at + 1] * vector[at + 1]
    third += factors[start + at + 2] * vector[at + 2]
    fourth += factors[start + at + 3] * vector[at + 3]
  }
  return first + second + (third + fourth)
}
