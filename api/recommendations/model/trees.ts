import { BundleError } from './manifest.ts'
import { FIRST_LEAF, type Split, type Trees, treesOf } from './tree-masks.ts'

/** Reads gradient-boosted trees from the text format of LightGBM (`Booster.save_model`). */

/** Limits that keep ranking fast enough for a request: docs/services/recommendations.md#ranking */
const MAX_TREES = 100
const MAX_LEAVES = 31

const CATEGORICAL_BIT = 1

export class TreesError extends BundleError {
  override readonly name = 'TreesError'
}

/**
 * Parses trees.
 * @param columns names of the features in a row, in order
 * @throws TreesError if the trees were trained on other columns, are too many or too large, or are not valid
 */
export function parseTrees(text: string, columns: readonly string[]): Trees {
  const [head, ...blocks] = text.split(/^Tree=\d+$/m)
  const names = fieldOf(head, 'feature_names').split(' ')
  if (names.join() !== columns.join())
    throw new TreesError(`the trees were trained on the columns ${names.join()} instead of ${columns.join()}`)
  if (blocks.length === 0 || blocks.length > MAX_TREES)
    throw new TreesError(`the model has ${blocks.length} trees instead of 1 to ${MAX_TREES}`)
  const splits: Split[] = []
  const leaves = blocks.map((block, tree) => readTree(block, tree, columns.length, splits))
  return treesOf(leaves, splits, columns.length)
}

/** Appends the splits of a tree. Returns the values of its leaves from left to right. */
function readTree(block: string, tree: number, width: number, splits: Split[]): number[] {
  const numbers = (name: string) => fieldOf(block, name).split(' ').map(Number)
  const values = numbers('leaf_value')
  if (values.length > MAX_LEAVES) throw new TreesError(`a tree has ${values.length} leaves, but at most ${MAX_LEAVES} are allowed`)
  if (!values.every(Number.isFinite)) throw new TreesError('a leaf is not a finite number')
  if (values.length === 1) return values
  const [features, thresholds, types, left, right] = ['split_feature', 'threshold', 'decision_type', 'left_child', 'right_child'].map(
    numbers,
  )
  const inner = values.length - 1
  const placed: number[] = []
  const reached = new Set<number>()

  /** Reads a child, which is a leaf if it is negative. Returns the mask of its leaves. */
  function read(child: number, parent: number): number {
    // A child must come after its parent and have no other parent, so that every path through the tree ends.
    const isKnown = Number.isInteger(child) && (child < 0 ? ~child < values.length : child > parent && child < inner)
    if (!isKnown || reached.has(child)) throw new TreesError(`a node has the invalid child ${child}`)
    reached.add(child)
    if (child < 0) return FIRST_LEAF >>> (placed.push(values[~child]) - 1)
    const isColumn = Number.isInteger(features[child]) && features[child] >= 0 && features[child] < width
    if (!isColumn || !Number.isFinite(thresholds[child])) throw new TreesError('a split does not compare a known column with a number')
    if ((types[child] & CATEGORICAL_BIT) !== 0) throw new TreesError('splits by category are not supported')
    const onLeft = read(left[child], child)
    splits.push({ tree, column: features[child], threshold: thresholds[child], onLeft })
    return onLeft | read(right[child], child)
  }

  read(0, -1)
  return placed
}

function fieldOf(block: string, name: string): string {
  const line = block.split('\n').find((one) => one.startsWith(`${name}=`))
  if (line === undefined) throw new TreesError(`the field ${name} is missing`)
  return line.slice(name.length + 1).trim()
}
