import { RANKING_FEATURES } from '../../../schemas/recommendations/ranking/ranking-features.ts'
import { integer, type Random } from '../../../tools/random/random.ts'
import { gaussian } from './gaussian.ts'

const TREES = 100
const LEAVES = 31
/**
 * Maximum threshold for columns that contain logarithms of counts or times. Thresholds for all other columns are at
 * most 1.
 */
const LOG_RANGE = 6
const LEAF_SIZE = 0.05

/** Generates trees in LightGBM's format, as large as those from training. Their predictions do not matter. */
export function generatedTrees(random: Random): string {
  const trees = Array.from({ length: TREES }, (_, index) => treeText(index, random))
  return [`feature_names=${RANKING_FEATURES.join(' ')}`, '', ...trees].join('\n')
}

function treeText(index: number, random: Random): string {
  const left: number[] = []
  const right: number[] = []
  /**
   * Where each leaf is attached. A split replaces a leaf with a new node, and the leaf becomes the left child of that
   * node.
   */
  const hangs: { readonly children: number[]; readonly node: number }[] = []
  for (let node = 0; node < LEAVES - 1; node++) {
    const split = node === 0 ? undefined : integer(random, hangs.length)
    const leaf = split ?? 0
    if (split !== undefined) hangs[split].children[hangs[split].node] = node
    left[node] = ~leaf
    right[node] = ~(node + 1)
    hangs[leaf] = { children: left, node }
    hangs.push({ children: right, node })
  }
  const columns = left.map(() => integer(random, RANKING_FEATURES.length))
  const thresholds = columns.map((column) => random() * (RANKING_FEATURES[column].endsWith('_log') ? LOG_RANGE : 1))
  const values = Array.from({ length: LEAVES }, () => LEAF_SIZE * gaussian(random))
  return [
    `Tree=${index}`,
    `split_feature=${columns.join(' ')}`,
    `threshold=${thresholds.join(' ')}`,
    `decision_type=${left.map(() => 2).join(' ')}`,
    `left_child=${left.join(' ')}`,
    `right_child=${right.join(' ')}`,
    `leaf_value=${values.join(' ')}`,
    '',
  ].join('\n')
}
