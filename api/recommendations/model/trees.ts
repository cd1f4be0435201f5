import { BundleError } from './manifest.ts'

/** Gradient-boosted trees in typed arrays, read from the text format of LightGBM (`Booster.save_model`). */

/** Limits that keep ranking fast enough for a request: docs/services/recommendations.md#ranking */
const MAX_TREES = 100
const MAX_LEAVES = 31

const CATEGORICAL_BIT = 1

export interface Trees {
  readonly count: number
  /** Returns the raw score of each row: the sum of one leaf per tree. */
  score(features: Float64Array, rows: number): Float64Array
}

export class TreesError extends BundleError {
  override readonly name = 'TreesError'
}

/**
 * Parses trees.
 * @param columns names of the features in a row, in order
 * @throws TreesError if the trees were trained on other columns, are too many, or contain something other than numbers
 */
export function parseTrees(text: string, columns: readonly string[]): Trees {
  const [head, ...blocks] = text.split(/^Tree=\d+$/m)
  const names = fieldOf(head, 'feature_names').split(' ')
  if (names.join() !== columns.join())
    throw new TreesError(`the trees were trained on the columns ${names.join()} instead of ${columns.join()}`)
  if (blocks.length === 0 || blocks.length > MAX_TREES)
    throw new TreesError(`the model has ${blocks.length} trees instead of 1 to ${MAX_TREES}`)
  const nodes: number[][] = []
  const leaves: number[] = []
  const roots = blocks.map((block) => readTree(block, columns.length, nodes, leaves))
  return evaluator(roots, nodes, Float64Array.from(leaves), columns.length)
}

/**
 * Appends the nodes of a tree as [column, threshold, left, right]. A negative child is a leaf. Returns the root of the
 * tree.
 */
function readTree(block: string, width: number, nodes: number[][], leaves: number[]): number {
  const numbers = (name: string) => fieldOf(block, name).split(' ').map(Number)
  const firstNode = nodes.length
  const firstLeaf = leaves.length
  const values = numbers('leaf_value')
  if (values.length > MAX_LEAVES) throw new TreesError(`a tree has ${values.length} leaves, but at most ${MAX_LEAVES} are allowed`)
  if (!values.every(Number.isFinite)) throw new TreesError('a leaf is not a number')
  leaves.push(...values)
  if (values.length === 1) return ~firstLeaf
  const [features, thresholds, types, left, right] = ['split_feature', 'threshold', 'decision_type', 'left_child', 'right_child'].map(
    numbers,
  )
  const inner = values.length - 1
  const childOf = (child: number, parent: number) => {
    // A child must come after its parent, so that every path through the tree ends.
    const isKnown = Number.isInteger(child) && (child < 0 ? ~child < values.length : child > parent && child < inner)
    if (!isKnown) throw new TreesError(`a node has the invalid child ${child}`)
    return child < 0 ? ~(~child + firstLeaf) : child + firstNode
  }
  for (let node = 0; node < inner; node++) {
    const isColumn = Number.isInteger(features[node]) && features[node] >= 0 && features[node] < width
    if (!isColumn || !Number.isFinite(thresholds[node])) throw new TreesError('a split does not compare a known column with a number')
    if ((types[node] & CATEGORICAL_BIT) !== 0) throw new TreesError('splits by category are not supported')
    nodes.push([features[node], thresholds[node], childOf(left[node], node), childOf(right[node], node)])
  }
  return firstNode
}

function evaluator(roots: readonly number[], nodes: readonly number[][], leaves: Float64Array, width: number): Trees {
  const columns = Int32Array.from(nodes, ([column]) => column)
  const thresholds = Float64Array.from(nodes, ([, threshold]) => threshold)
  const children = Int32Array.from(nodes.flatMap(([, , left, right]) => [left, right]))
  return {
    count: roots.length,
    score(features, rows) {
      const scores = new Float64Array(rows)
      // The trees are evaluated one after another, so that the nodes of one tree stay in the processor's cache.
      for (const root of roots) {
        for (let row = 0, start = 0; row < rows; row++, start += width) {
          let at = root
          while (at >= 0) at = children[2 * at + (features[start + columns[at]] <= thresholds[at] ? 0 : 1)]
          scores[row] += leaves[~at]
        }
      }
      return scores
    },
  }
}

function fieldOf(block: string, name: string): string {
  const line = block.split('\n').find((one) => one.startsWith(`${name}=`))
  if (line === undefined) throw new TreesError(`the trees have no ${name}`)
  return line.slice(name.length + 1).trim()
}
