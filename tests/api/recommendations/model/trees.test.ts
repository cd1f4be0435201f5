import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parseTrees, TreesError } from '../../../../api/recommendations/model/trees.ts'
import { integer, seededRandom } from '../../../../tools/random/random.ts'

/** Trees that LightGBM trained, written by tools/recommendations/python/fixtures.py. */
const text = readFileSync(new URL('./fixtures/trees.txt', import.meta.url), 'utf8')
const { columns, rows, scores } = JSON.parse(readFileSync(new URL('./fixtures/scores.json', import.meta.url), 'utf8')) as {
  readonly columns: readonly string[]
  readonly rows: readonly (readonly number[])[]
  readonly scores: readonly number[]
}

test('the scores equal those that LightGBM computes', () => {
  const found = parseTrees(text, columns).score(Float64Array.from(rows.flat()), rows.length)
  scores.forEach((score, row) => void expect(Math.abs(found[row] - score)).toBeLessThan(1e-6))
})

/**
 * Follows the splits of each tree from the root, as the format of LightGBM requires. Returns the sum of the leaf values
 * that the row reaches.
 */
function walkedScore(row: readonly number[]): number {
  return text
    .split(/^Tree=/m)
    .slice(1)
    .reduce((sum, block) => {
      const numbers = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(block)![1].split(' ').map(Number)
      const [features, thresholds, left, right] = ['split_feature', 'threshold', 'left_child', 'right_child'].map(numbers)
      let at = 0
      while (at >= 0) at = row[features[at]] <= thresholds[at] ? left[at] : right[at]
      return sum + numbers('leaf_value')[~at]
    }, 0)
}

test('each row gets the score that a walk along the splits gives, whichever rows are scored together', () => {
  const random = seededRandom(3)
  const thresholds = [...text.matchAll(/^threshold=(.*)$/gm)].flatMap(([, line]) => line.split(' ').map(Number))
  const values = [...thresholds, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  const shared = columns.map(() => values[integer(random, values.length)])
  for (const isShared of [0, 0.5, 0.9, 1]) {
    const some = Array.from({ length: 60 }, () =>
      columns.map((_, column) => (random() < isShared ? shared[column] : values[integer(random, values.length)])),
    )
    const found = parseTrees(text, columns).score(Float64Array.from(some.flat()), some.length)
    expect([...found]).toEqual(some.map(walkedScore))
  }
})

test.each([
  ['other columns', (whole: string) => whole.replace('column_0 ', 'column_9 '), 'the trees were trained on the columns'],
  ['a leaf that is not a number', (whole: string) => whole.replace(/leaf_value=\S+/, 'leaf_value=nan'), 'a leaf is not a finite number'],
  [
    'a threshold that is not a number',
    (whole: string) => whole.replace(/threshold=\S+/, 'threshold=nan'),
    'does not compare a known column with a number',
  ],
  ['a child before its parent', (whole: string) => whole.replace(/left_child=\S+/, 'left_child=0'), 'a node has the invalid child 0'],
  [
    'a child with two parents',
    (whole: string) => whole.replace(/right_child=(\S+)/, () => `right_child=${/left_child=(\S+)/.exec(whole)![1]}`),
    'a node has the invalid child',
  ],
  ['no trees', (whole: string) => whole.split('Tree=0')[0], '0 trees'],
])('trees with %s are refused', (_, damage, message) => {
  expect(() => parseTrees(damage(text), columns)).toThrow(TreesError)
  expect(() => parseTrees(damage(text), columns)).toThrow(message)
})
