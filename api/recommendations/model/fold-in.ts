import { confidenceOf } from '../../../schemas/recommendations/ranking/confidence.ts'

/** An interaction with an item whose factors are known. */
export interface FoldedItem {
  readonly factors: Float32Array
  readonly weight: number
}

export interface FoldIn {
  /** Returns the user's factors, not normalised; undefined without items. */
  solve(items: readonly FoldedItem[]): Float64Array | undefined
}

export interface FoldInDeps {
  /** The product of the transposed factors with themselves, row-major. */
  readonly gram: Float64Array
  readonly dimensions: number
  readonly regularization: number
}

/** Bounds the work of one user. Steps end sooner when the residual is small. */
const MAX_STEPS = 24
/** The cosine to the exact solution is then above 0.9998. Each tenth of it would cost five more steps. */
const SMALL_RESIDUAL = 3e-3

/**
 * Computes a user's factors from interactions, as `implicit` does it for its `recalculate_user`: the least squares of
 * (YᵀY + λI + Σ (c − 1) y yᵀ) x = Σ c y, here by conjugate gradients, because solving it directly takes milliseconds.
 */
export function foldIn({ gram, dimensions, regularization }: FoldInDeps): FoldIn {
  const residual = new Float64Array(dimensions)
  const direction = new Float64Array(dimensions)
  const image = new Float64Array(dimensions)

  function apply(items: readonly FoldedItem[]): void {
    for (let row = 0; row < dimensions; row++) {
      image[row] = regularization * direction[row] + rowProduct(gram, row * dimensions, direction, dimensions)
    }
    for (const { factors, weight } of items) {
      const product = (confidenceOf(weight) - 1) * productWith(factors, direction, dimensions)
      for (let at = 0; at < dimensions; at++) image[at] += product * factors[at]
    }
  }

  return {
    solve(items) {
      if (items.length === 0) return undefined
      const solution = new Float64Array(dimensions)
      residual.fill(0)
      for (const { factors, weight } of items) {
        const confidence = confidenceOf(weight)
        for (let at = 0; at < dimensions; at++) residual[at] += confidence * factors[at]
      }
      direction.set(residual)
      let squared = dot(residual, residual)
      const enough = squared * SMALL_RESIDUAL ** 2
      for (let step = 0; step < MAX_STEPS && squared > enough; step++) {
        apply(items)
        const length = squared / dot(direction, image)
        for (let at = 0; at < dimensions; at++) {
          solution[at] += length * direction[at]
          residual[at] -= length * image[at]
        }
        const next = dot(residual, residual)
        const share = next / squared
        for (let at = 0; at < dimensions; at++) direction[at] = residual[at] + share * direction[at]
        squared = next
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

// Both add up four sums side by side, because a processor waits for each addition to one. They are two functions,
// because one for both kinds of arrays takes twice as long.

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

function productWith(factors: Float32Array, vector: Float64Array, length: number): number {
  let [first, second, third, fourth] = [0, 0, 0, 0]
  for (let at = 0; at < length; at += 4) {
    first += factors[at] * vector[at]
    second += factors[at + 1] * vector[at + 1]
    third += factors[at + 2] * vector[at + 2]
    fourth += factors[at + 3] * vector[at + 3]
  }
  return first + second + (third + fourth)
}
