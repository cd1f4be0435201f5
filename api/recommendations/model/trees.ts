/** Gradient-boosted trees in typed arrays, read from the text format of LightGBM (`Booster.save_model`). */

/** Limits of what a request can afford: docs/services/recommendations.md#ranking */
const MAX_TREES = 100
const MAX_LEAVES = 31

const CATEGORICAL_BIT = 1

export interface Trees {
  readonly count: number
  /** Writes the raw score of each row: the sum of one leaf per tree. */
  score(features: Float64Array, rows: number): Float64Array
}

export class TreesError extends Error {
  override readonly name = 'TreesError'
}

/**
 * @param columns names of the features that rows have, in order
 * @throws TreesError if the trees were trained on other columns, are too many, or contain something other than numbers
 */
export function parseTrees(text: string, columns: readonly string[]): Trees {
  const [head, ...blocks] = text.split(/^Tree=\d+$/m)
  const names = fieldOf(head, 'feature_names').split(' ')
  if (names.join() !== columns.join()) throw new TreesError(`the trees know the columns ${names.join()} instead of ${columns.join()}`)
  if (blocks.length === 0 || blocks.length > MAX_TREES) throw new TreesError(`${blocks.length} trees: must be 1 to ${MAX_TREES}`)
  const nodes: Node[] = []
  const trees = blocks.map((block) => readTree(block, columns.length, nodes))
  return evaluator(trees, nodes, columns.length)
}

/** A leaf leads to itself, so that all walks through a tree take as many steps as its depth. */
interface Node {
  readonly column: number
  readonly threshold: number
  readonly left: number
  readonly right: number
  /** 0 for a node that is not a leaf. */
  readonly value: number
}

interface Tree {
  readonly root: number
  /** The most splits between the root and a leaf. */
  readonly depth: number
}

/** Appends the nodes of a tree, and after them its leaves. */
function readTree(block: string, width: number, nodes: Node[]): Tree {
  const numbers = (name: string) => fieldOf(block, name).split(' ').map(Number)
  const root = nodes.length
  const values = numbers('leaf_value')
  if (values.length > MAX_LEAVES) throw new TreesError(`a tree of ${values.length} leaves: must be at most ${MAX_LEAVES}`)
  if (!values.every(Number.isFinite)) throw new TreesError('a leaf is not a number')
  const inner = values.length - 1
  const depth = inner === 0 ? 0 : readSplits(block, width, inner, nodes)
  values.forEach((value, leaf) => {
    const self = root + inner + leaf
    nodes.push({ column: 0, threshold: 0, left: self, right: self, value })
  })
  return { root, depth }
}

/** Appends the splits of a tree. Returns its depth. */
function readSplits(block: string, width: number, count: number, nodes: Node[]): number {
  const numbers = (name: string) => fieldOf(block, name).split(' ').map(Number)
  const root = nodes.length
  const [features, thresholds, types, left, right] = ['split_feature', 'threshold', 'decision_type', 'left_child', 'right_child'].map(
    numbers,
  )
  const depths = new Uint8Array(count).fill(1)
  const childOf = (child: number, parent: number) => {
    // A child comes after its parent, therefore no walk is endless.
    const isKnown = Number.isInteger(child) && (child < 0 ? ~child <= count : child > parent && child < count)
    if (!isKnown) throw new TreesError(`a node has the child ${child}`)
    if (child >= 0) depths[child] = depths[parent] + 1
    return root + (child < 0 ? count + ~child : child)
  }
  for (let node = 0; node < count; node++) {
    const isColumn = Number.isInteger(features[node]) && features[node] >= 0 && features[node] < width
    if (!isColumn || !Number.isFinite(thresholds[node])) throw new TreesError('a split is not a number of a known column')
    if ((types[node] & CATEGORICAL_BIT) !== 0) throw new TreesError('splits by category are not supported')
    const [column, threshold] = [features[node], thresholds[node]]
    nodes.push({ column, threshold, left: childOf(left[node], node), right: childOf(right[node], node), value: 0 })
  }
  return Math.max(...depths)
}

/** So many rows walk through a tree side by side, because each step waits for the one before it. */
const ROWS_AT_ONCE = 4

function evaluator(trees: readonly Tree[], nodes: readonly Node[], width: number): Trees {
  const columns = Uint8Array.from(nodes, ({ column }) => column)
  const thresholds = Float64Array.from(nodes, ({ threshold }) => threshold)
  /** The right child of a node, and then its left one. */
  const children = Uint16Array.from(nodes.flatMap(({ left, right }) => [right, left]))
  const values = Float64Array.from(nodes, ({ value }) => value)

  function addTree({ root, depth }: Tree, features: Float64Array, scores: Float64Array): void {
    const whole = scores.length - (scores.length % ROWS_AT_ONCE)
    for (let row = 0, start = 0; row < whole; row += ROWS_AT_ONCE, start += ROWS_AT_ONCE * width) {
      const [second, third, fourth] = [start + width, start + 2 * width, start + 3 * width]
      let [a, b, c, d] = [root, root, root, root]
      for (let step = 0; step < depth; step++) {
        a = children[2 * a + Number(features[start + columns[a]] <= thresholds[a])]
        b = children[2 * b + Number(features[second + columns[b]] <= thresholds[b])]
        c = children[2 * c + Number(features[third + columns[c]] <= thresholds[c])]
        d = children[2 * d + Number(features[fourth + columns[d]] <= thresholds[d])]
      }
      scores[row] += values[a]
      scores[row + 1] += values[b]
      scores[row + 2] += values[c]
      scores[row + 3] += values[d]
    }
    for (let row = whole; row < scores.length; row++) {
      let at = root
      for (let step = 0; step < depth; step++) at = children[2 * at + Number(features[row * width + columns[at]] <= thresholds[at])]
      scores[row] += values[at]
    }
  }

  return {
    count: trees.length,
    score(features, rows) {
      const scores = new Float64Array(rows)
      // Tree by tree, so that the nodes of one tree stay in the processor's cache.
      for (const tree of trees) addTree(tree, features, scores)
      return scores
    },
  }
}

function fieldOf(block: string, name: string): string {
  const line = block.split('\n').find((one) => one.startsWith(`${name}=`))
  if (line === undefined) throw new TreesError(`the trees have no ${name}`)
  return line.slice(name.length + 1).trim()
}
