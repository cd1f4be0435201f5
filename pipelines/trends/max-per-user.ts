/**
 * Maximum number of contributions of one user to a term in any window, over all regions:
 * docs/services/trends.md#spam-cap
 */
export const MAX_PER_USER = 3
