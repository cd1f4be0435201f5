import { MOST_CATEGORIES } from '../../../schemas/catalog/documents/limits.ts'
import type { Category } from '../../../schemas/catalog/types.ts'
import type { CategoryTree } from './tree.ts'

/**
 * Maximum depth of the tree: the number of categories on a path from a root down to a category, including both of them.
 */
export const MOST_LEVELS = 16

export type CategoryFault = 'unknown_parent' | 'cycle' | 'too_deep' | 'slug_taken' | 'too_many'

/** Returns the reason why a category cannot be stored; undefined if it can be stored. */
export function categoryFault(tree: CategoryTree, { category_id, parent_id, slug }: Category): CategoryFault | undefined {
  if (tree.get(category_id) === undefined && tree.size >= MOST_CATEGORIES) return 'too_many'
  const siblings = parent_id === null ? tree.all.filter((other) => tree.pathOf(other.category_id).length === 1) : tree.childrenOf(parent_id)
  if (parent_id !== null) {
    if (tree.get(parent_id) === undefined) return 'unknown_parent'
    if (isSelfOrBelow(tree, parent_id, category_id)) return 'cycle'
    if (tree.pathOf(parent_id).length + heightOf(tree, category_id) > MOST_LEVELS) return 'too_deep'
  }
  return siblings.some((other) => other.slug === slug && other.category_id !== category_id) ? 'slug_taken' : undefined
}

/**
 * Returns whether the category `id` is the category `other` or a descendant of it. Follows the stored parents, because
 * the path of a category on a cycle does not contain its ancestors.
 */
function isSelfOrBelow(tree: CategoryTree, id: number, other: number): boolean {
  const passed = new Set<number>()
  for (let next: number | null | undefined = id; next != null && !passed.has(next); next = tree.get(next)?.parent_id) {
    if (next === other) return true
    passed.add(next)
  }
  return false
}

/**
 * Returns the number of levels from the category down to its deepest descendant. A category without children has 1
 * level.
 */
function heightOf(tree: CategoryTree, id: number): number {
  const own = tree.pathOf(id).length
  return tree.descendantsOf(id).reduce((most, below) => Math.max(most, tree.pathOf(below).length - own + 1), 1)
}
