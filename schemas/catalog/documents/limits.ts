/**
 * Maximum number of categories. Every API process keeps all categories in memory, at about 200 bytes each, and a search
 * in a category lists all of its subcategories.
 */
export const MOST_CATEGORIES = 100_000
