import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parseTrees, TreesError } from '../../../../api/recommendations/model/trees.ts'

/** Trees that LightGBM trained, written by tools/recommendations/python/fixtures.py. */
const text = readFileSync(new URL('./fixtures/trees.txt', import.meta.url), 'utf8')
const { columns, rows, scores } = JSON.parse(readFileSync(new URL('./fixtures/scores.json', import.meta.url), 'utf8')) as {
  readonly columns: readonly string[]
  readonly rows: readonly (readonly number[])[]
  readonly scores: readonly number[]
}

test("the scores are LightGBM's own", () => {
  const found = parseTrees(text, columns).score(Float64Array.from(rows.flat()), rows.length)
  scores.forEach((score, row) => void expect(Math.abs(found[row] - score)).toBeLessThan(1e-6))
})

test.each([
  ['other columns', (whole: string) => whole.replace('column_0 ', 'column_9 '), 'the trees were trained on the columns'],
  ['a leaf that is not a number', (whole: string) => whole.replace(/leaf_value=\S+/, 'leaf_value=nan'), 'a leaf is not a number'],
  [
    'a threshold that is not a number',
    (whole: string) => whole.replace(/threshold=\S+/, 'threshold=nan'),
    'does not compare a known column with a number',
  ],
  ['a child before its parent', (whole: string) => whole.replace(/left_child=\S+/, 'left_child=0'), 'a node has the invalid child 0'],
  ['no trees', (whole: string) => whole.split('Tree=0')[0], '0 trees'],
])('trees with %s are refused', (_, damage, message) => {
  expect(() => parseTrees(damage(text), columns)).toThrow(TreesError)
  expect(() => parseTrees(damage(text), columns)).toThrow(message)
})
