/** Minimum confidence. Every interaction says a little, even a negative one. */
const LEAST_CONFIDENCE = 0.1

/**
 * The confidence of the factorisation in an interaction of this weight (Hu, Koren and Volinsky, "Collaborative
 * Filtering for Implicit Feedback Datasets", section 4). Training and serving must use the same one.
 */
export function confidenceOf(weight: number): number {
  return Math.max(LEAST_CONFIDENCE, 1 + weight)
}
