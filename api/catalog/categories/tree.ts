import type { Category } from '../../../schemas/catalog/types.ts'

/**
 * All categories as a tree. Two administrators who make changes at the same time can create a cycle, although each
 * change alone is valid. Categories on a cycle are treated as roots, so every path is finite.
 */
export interface CategoryTree {
  readonly size: number
  get(id: number): Category | undefined
  /** Categories from the root to this category; empty if the category is unknown. */
  pathOf(id: number): readonly Category[]
  /** The path of slugs, such as `tools/saws`; undefined if the category is unknown. */
  slugPathOf(id: number): string | undefined
  /** Returns the category with this decimal id or path of slugs; undefined if there is none. */
  resolve(idOrPath: string): Category | undefined
  /** Ids of the category and of all its descendants; empty for an unknown category. */
  descendantsOf(id: number): readonly number[]
  childrenOf(id: number): readonly Category[]
  /** All categories, sorted by their path of slugs. */
  readonly all: readonly Category[]
}

const NO_CATEGORIES: readonly Category[] = []

/**
 * Builds the tree.
 * @param categories all categories; each id occurs once
 */
export function categoryTree(categories: Iterable<Category>): CategoryTree {
  const byId = new Map<number, Category>()
  for (const category of categories) byId.set(category.category_id, category)
  const paths = new Map<number, readonly Category[]>()
  const children = new Map<number, Category[]>()
  const bySlugPath = new Map<string, Category>()
  const slugPaths = new Map<number, string>()
  const sorted = [...byId.values()].sort((a, b) => a.category_id - b.category_id)

  for (const category of sorted) {
    const path = pathTo(category)
    const slugPath = path.map(({ slug }) => slug).join('/')
    paths.set(category.category_id, path)
    slugPaths.set(category.category_id, slugPath)
    // If several categories have the same path, the path resolves to the category with the lowest id, so that all
    // processes agree.
    if (!bySlugPath.has(slugPath)) bySlugPath.set(slugPath, category)
    const parent = path.at(-2)
    if (parent === undefined) continue
    const siblings = children.get(parent.category_id) ?? []
    siblings.push(category)
    children.set(parent.category_id, siblings)
  }

  /**
   * Returns the path from the root to the category. If the category or an ancestor is on a cycle, the path begins with
   * the nearest category on the cycle.
   */
  function pathTo(category: Category): readonly Category[] {
    if (isOnCycle(category)) return [category]
    const path = [category]
    for (let parent = parentOf(category); parent !== undefined; parent = isOnCycle(parent) ? undefined : parentOf(parent))
      path.unshift(parent)
    return path
  }

  function parentOf({ parent_id }: Category): Category | undefined {
    return parent_id === null ? undefined : byId.get(parent_id)
  }

  function isOnCycle(category: Category): boolean {
    const passed = new Set<Category>()
    for (let next = parentOf(category); next !== undefined && !passed.has(next); next = parentOf(next)) {
      if (next === category) return true
      passed.add(next)
    }
    return false
  }

  function descendantsOf(id: number): readonly number[] {
    if (!byId.has(id)) return []
    const found = [id]
    for (const next of found) for (const { category_id } of children.get(next) ?? NO_CATEGORIES) found.push(category_id)
    return found
  }

  return {
    size: byId.size,
    get: (id) => byId.get(id),
    pathOf: (id) => paths.get(id) ?? NO_CATEGORIES,
    slugPathOf: (id) => slugPaths.get(id),
    resolve: (idOrPath) => (/^\d{1,10}$/.test(idOrPath) ? byId.get(Number(idOrPath)) : bySlugPath.get(idOrPath)),
    descendantsOf,
    childrenOf: (id) => children.get(id) ?? NO_CATEGORIES,
    all: sorted.toSorted((a, b) => compareTexts(slugPaths.get(a.category_id)!, slugPaths.get(b.category_id)!)),
  }
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
