import { categories } from '../../../schemas/catalog/documents/topics.ts'
import type { Category } from '../../../schemas/catalog/types.ts'
import { arrivals } from '../../kit/arrivals.ts'
import type { ReadinessProbe } from '../../kit/readiness.ts'
import { heldAsIs } from '../../kit/small-table/holding.ts'
import type { ServiceKit } from '../../service.ts'
import { type CategoryTree, categoryTree } from './tree.ts'

/** This process's current copy of all categories. A change normally reaches every process within a second. */
export interface CategoryTable {
  /**
   * The categories as a tree. Reading this property throws ApiError `not_ready` until the categories have been read or
   * a snapshot is in use.
   */
  readonly tree: CategoryTree
  /**
   * Waits until this process has received the caller's change, so that the caller can read it. Gives up waiting after a
   * second.
   */
  untilSeen(category: Category): Promise<unknown>
  readonly probes: readonly ReadinessProbe[]
  close(): Promise<unknown>
}

export async function openCategories({ smallTables }: Pick<ServiceKit, 'smallTables'>): Promise<CategoryTable> {
  let tree: CategoryTree | undefined
  const changes = arrivals()
  const table = await smallTables(
    categories,
    heldAsIs<Category>(1, () => {
      tree = undefined
      changes.changed()
    }),
  )

  function isSeen({ category_id, parent_id, name, slug }: Category): boolean {
    const known = table.entries().get(String(category_id))
    return known !== undefined && known.parent_id === parent_id && known.name === name && known.slug === slug
  }

  return {
    get tree() {
      tree ??= categoryTree(table.entries().values())
      return tree
    },
    untilSeen: (category) => changes.until(() => isSeen(category)),
    probes: table.probes,
    close: table.close,
  }
}
