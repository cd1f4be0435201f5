import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { openFactors } from '../../../api/recommendations/model/factors.ts'
import { type GroupFile, openGroupFile } from '../../../api/recommendations/model/group-file.ts'
import { DIMENSIONS, GROUPS_FILE } from '../../../api/recommendations/model/manifest.ts'
import { vectorSearch } from '../../../api/recommendations/model/vector-search.ts'
import { seededRandom } from '../../../tools/random/random.ts'
import { vectorGroups } from '../../../tools/recommendations/train/vector-groups.ts'
import { writeGroups } from '../../../tools/recommendations/train/write-groups.ts'

const ROWS = 12_000
const CLUSTERS = 100
const LONGEST = 500
const WANTED = 100
/** The values of vectors in groups are computed from 8-bit numbers. */
const ROUNDING = 0.002
const folder = mkdtempSync(join(tmpdir(), 'millrace-groups-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Vectors of many lengths in clusters around a few centres. Successive vectors always belong to different clusters. */
const halves = clustered()
writeFileSync(join(folder, 'items.f16'), halves)
const vectorOf = (row: number) => Float32Array.from(halves.subarray(row * DIMENSIONS, (row + 1) * DIMENSIONS))
const lengthOf = (vector: Float32Array) => Math.sqrt(product(vector, vector))
const greatestLength = Math.max(...Array.from({ length: ROWS }, (_, row) => lengthOf(vectorOf(row))))

test('vectors with similar directions are mostly in the same group, and none is missing or repeated', () => {
  const file = openSync(join(folder, 'items.f16'), 'r')
  const all = Uint32Array.from({ length: ROWS }, (_, row) => row)
  const groups = vectorGroups({ file, rows: ROWS, dimensions: DIMENSIONS }, all)
  closeSync(file)
  expect(Uint32Array.from(groups.flatMap((group) => [...group])).sort()).toEqual(all)
  // A search reads each group with a system call, so groups must not be too small.
  expect(ROWS / groups.length).toBeGreaterThan(60)
  // Number of rows that belong to the most frequent cluster of their group.
  let together = 0
  for (const group of groups)
    together += Math.max(
      ...Map.groupBy(group, (row) => row % CLUSTERS)
        .values()
        .map(({ length }) => length),
    )
  expect(together / ROWS).toBeGreaterThan(0.9)
})

test.each(['product', 'cosine'] as const)(
  'a search that reads some of the groups finds more than 95 % of the vectors with the largest %s, best first',
  async (by) => {
    writeGroups({ folder, items: ROWS, greatestLength, mostWhole: 0, longest: LONGEST })
    const { factors, lengths } = await openFactors(join(folder, 'items.f16'), ROWS, DIMENSIONS)
    const groups = await openGroupFile(join(folder, GROUPS_FILE), DIMENSIONS, ROWS)
    try {
      expect(groups.rows).toHaveLength(ROWS - LONGEST)
      expectDescending(groups, lengths)
      for (let row = 0; row < ROWS; row++) lengths[row] /= greatestLength
      const search = await vectorSearch({ factors, dimensions: DIMENSIONS, lengths, greatest: greatestLength, groups })
      let found = 0
      const questions = [3, 500, 1_234, 7_777, 11_111].map((row) => vectorOf(row).map((value) => value / (lengths[row] * greatestLength)))
      for (const question of questions) {
        const values = Float64Array.from({ length: ROWS }, (_, row) => {
          const value = product(question, vectorOf(row)) / greatestLength
          return by === 'product' ? value : value / lengths[row]
        })
        const least = values.toSorted()[ROWS - WANTED]
        const answers = search.search(question, WANTED, by)
        for (const { key, value } of answers) expect(Math.abs(value - values[key])).toBeLessThan(ROUNDING)
        expect(answers.map(({ value }) => value)).toEqual(answers.map(({ value }) => value).toSorted((a, b) => b - a))
        expect(new Set(answers.map(({ key }) => key)).size).toBe(WANTED)
        found += answers.filter(({ key }) => values[key] >= least).length
      }
      expect(found / (questions.length * WANTED)).toBeGreaterThan(0.95)
    } finally {
      groups.close()
      factors.close()
    }
  },
)

/** A search that needs only a part of a group reads the beginning, so the longest vectors must come first. */
function expectDescending({ groups, starts, rows }: GroupFile, lengths: Float32Array): void {
  for (let group = 0; group < groups; group++) {
    const own = [...rows.subarray(starts[group], starts[group + 1])].map((row) => lengths[row])
    expect(own).toEqual(own.toSorted((one, other) => other - one))
  }
}

test('the file of a small catalogue has no groups, because the API keeps all vectors in memory', async () => {
  writeGroups({ folder, items: ROWS, greatestLength })
  const groups = await openGroupFile(join(folder, GROUPS_FILE), DIMENSIONS, ROWS)
  groups.close()
  expect([groups.groups, groups.rows.length]).toEqual([0, 0])
})

test('vectors of zeros are grouped and found like any others', async () => {
  const zeros = join(folder, 'zeros')
  const rows = 200
  const place = mkdtempSync(zeros)
  writeFileSync(join(place, 'items.f16'), new Float16Array(rows * DIMENSIONS))
  writeGroups({ folder: place, items: rows, greatestLength: 1, mostWhole: 0, longest: 10 })
  const { factors, lengths } = await openFactors(join(place, 'items.f16'), rows, DIMENSIONS)
  const groups = await openGroupFile(join(place, GROUPS_FILE), DIMENSIONS, rows)
  try {
    const search = await vectorSearch({ factors, dimensions: DIMENSIONS, lengths, greatest: 1, groups })
    const question = vectorOf(1).map((value) => value / lengthOf(vectorOf(1)))
    for (const by of ['product', 'cosine'] as const) {
      const answers = search.search(question, WANTED, by)
      expect(answers).toHaveLength(WANTED)
      expect(new Set(answers.map(({ value }) => value))).toEqual(new Set([0]))
    }
  } finally {
    groups.close()
    factors.close()
  }
})

function product(one: Float32Array, other: Float32Array): number {
  let sum = 0
  for (let at = 0; at < one.length; at++) sum += one[at] * other[at]
  return sum
}

function clustered(): Float16Array {
  const random = seededRandom(3)
  const centres = Array.from({ length: CLUSTERS }, () => Array.from({ length: DIMENSIONS }, () => random() - 0.5))
  const all = new Float16Array(ROWS * DIMENSIONS)
  for (let row = 0; row < ROWS; row++) {
    const scale = 0.02 + 0.33 * random() ** 4
    for (let at = 0; at < DIMENSIONS; at++) all[row * DIMENSIONS + at] = scale * (centres[row % CLUSTERS][at] + 0.6 * (random() - 0.5))
  }
  return all
}
