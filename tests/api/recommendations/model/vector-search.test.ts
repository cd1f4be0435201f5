import { expect, test } from 'vitest'
import type { Factors } from '../../../../api/recommendations/model/factors.ts'
import { ROWS_AT_ONCE, vectorSearch } from '../../../../api/recommendations/model/vector-search.ts'
import { seededRandom } from '../../../../tools/random/random.ts'
import { turnsDuring } from '../../../turns-during.ts'

const DIMENSIONS = 32
const ROWS = 20_000
const WANTED = 40
const GREATEST = 3
/** With only 32 dimensions, the rounding errors of a product are less likely to cancel out. */
const ROUNDING = 0.006

/** Returns vectors with lengths from `GREATEST / 50` to `GREATEST`. */
function vectorsOf(seed: number): Float32Array[] {
  const random = seededRandom(seed)
  return Array.from({ length: ROWS }, (_, row) => {
    const vector = Float32Array.from({ length: DIMENSIONS }, (_, column) => (random() - 0.5) / (column + 1))
    const length = GREATEST / (1 + (row % 50))
    const scale = length / lengthOf(vector)
    return vector.map((value) => value * scale)
  })
}

const product = (one: Float32Array, other: Float32Array) => one.reduce((sum, value, at) => sum + value * other[at], 0)
const lengthOf = (vector: Float32Array) => Math.sqrt(product(vector, vector))

function over(vectors: readonly Float32Array[]) {
  const factors: Factors = {
    copy: (row, out, at) => out.set(vectors[row], at),
    productWith: (row, vector) => product(vectors[row], vector),
    close: () => undefined,
  }
  const lengths = Float32Array.from(vectors, (vector) => lengthOf(vector) / GREATEST)
  return vectorSearch({ factors, dimensions: DIMENSIONS, lengths, greatest: GREATEST, groups: undefined })
}

test.each(['product', 'cosine'] as const)('more than 95 % of the vectors with the largest %s are found, best first', async (by) => {
  const vectors = vectorsOf(5)
  const search = await over(vectors)
  let found = 0
  const questions = vectors.slice(100, 120).map((vector) => vector.map((value) => value / lengthOf(vector)))
  for (const question of questions) {
    const trueValue = (vector: Float32Array) => product(question, vector) / (by === 'product' ? GREATEST : lengthOf(vector))
    const exact = vectors.map((vector, key) => ({ key, value: trueValue(vector) })).sort((a, b) => b.value - a.value)
    const best = new Set(exact.slice(0, WANTED).map(({ key }) => key))
    const answers = search.search(question, WANTED, by)
    expect(answers).toHaveLength(WANTED)
    for (const { key, value } of answers) expect(Math.abs(value - trueValue(vectors[key]))).toBeLessThan(ROUNDING)
    expect(answers.map(({ value }) => value)).toEqual(answers.map(({ value }) => value).toSorted((a, b) => b - a))
    found += answers.filter(({ key }) => best.has(key)).length
  }
  expect(found / (questions.length * WANTED)).toBeGreaterThan(0.95)
})

test('a zero vector is found with the value 0, and all vectors are found if there are fewer than requested', async () => {
  const vectors = [new Float32Array(DIMENSIONS), ...vectorsOf(6).slice(0, 3)]
  const search = await over(vectors)
  for (const by of ['product', 'cosine'] as const) {
    const question = vectors[1].map((value) => value / lengthOf(vectors[1]))
    const answers = search.search(question, WANTED, by)
    expect(answers.map(({ key }) => key).toSorted()).toEqual([0, 1, 2, 3])
    expect(answers.find(({ key }) => key === 0)).toEqual({ key: 0, value: 0 })
  }
})

test('a search among no vectors finds nothing, and a search in which the only vector is zero finds this vector with the value 0', async () => {
  expect((await over([])).search(new Float32Array(DIMENSIONS), WANTED, 'product')).toEqual([])
  const search = await over([new Float32Array(DIMENSIONS)])
  expect(search.search(vectorsOf(7)[0], WANTED, 'product')).toEqual([{ key: 0, value: 0 }])
  expect(search.search(new Float32Array(DIMENSIONS), WANTED, 'cosine')).toEqual([{ key: 0, value: 0 }])
})

test('vectors are converted in pieces, so that other work can run in between', async () => {
  const vectors = vectorsOf(8)
  const { turns } = await turnsDuring(() => over(vectors))
  expect(turns).toBeGreaterThanOrEqual(Math.floor(ROWS / ROWS_AT_ONCE))
})
