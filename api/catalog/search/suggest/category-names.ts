import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Category } from '../../../../schemas/catalog/types.ts'
import { wordsOf } from '../../../../state/indexes/catalog/words.ts'
import type { CategoryTree } from '../../categories/tree.ts'

export interface NamedCategory {
  readonly category: Category
  /** The words of the category's name. */
  readonly words: readonly string[]
}

/** Number of names that are split before other work of the process gets a turn. Splitting them takes a few ms. */
const NAMES_PER_TURN = 500

/**
 * Returns a function that lists the categories of a tree in the order of `CategoryTree.all`, with the words of their
 * names. The words are remembered, because splitting the names of 100,000 categories takes half a second. After a
 * change, only the names of changed categories are split.
 */
export function categoryNames(split = wordsOf): (tree: CategoryTree) => Promise<readonly NamedCategory[]> {
  const known = new WeakMap<Category, NamedCategory>()
  const lists = new WeakMap<CategoryTree, Promise<readonly NamedCategory[]>>()

  async function named({ all }: CategoryTree): Promise<readonly NamedCategory[]> {
    const list: NamedCategory[] = []
    let newNames = 0
    for (const category of all) {
      let entry = known.get(category)
      if (entry === undefined) {
        entry = { category, words: split(category.name).map(({ text }) => text) }
        known.set(category, entry)
        if (++newNames % NAMES_PER_TURN === 0) await nextTurn()
      }
      list.push(entry)
    }
    return list
  }

  return function namesIn(tree) {
    const list = lists.get(tree) ?? named(tree)
    lists.set(tree, list)
    return list
  }
}
