/** Minimum confidence. Every interaction is some evidence, even a negative interaction. */
const LEAST_CONFIDENCE = 0.1

/**
 * Returns the confidence of the factorization in an interaction of this weight (Hu, Koren and Volinsky, "Collaborative
 * Filtering for Implicit Feedback Datasets", section 4). Training and serving must use the same function.
 */
export function confidenceOf(weight: number): number {
  return Math.max(LEAST_CONFIDENCE, 1 + weight)
}
