import { expect, test } from 'vitest'
import { newVectorIndex } from '../../../../api/recommendations/model/vector-index.ts'

const DIMENSIONS = 16
const VECTORS = 300
const WANTED = 20

/** Deterministic vectors of different lengths. */
const vectors = Array.from({ length: VECTORS }, (_, row) =>
  Float32Array.from({ length: DIMENSIONS }, (_, column) => Math.sin((row + 1) * (column + 3) * 1.7) * ((row % 10) + 1) * 0.02),
)
const product = (one: Float32Array, other: Float32Array) => one.reduce((sum, value, at) => sum + value * other[at], 0)
const length = (vector: Float32Array) => Math.sqrt(product(vector, vector))

test('more than 95 % of the vectors with the largest inner products are found, best first', () => {
  const built = newVectorIndex(DIMENSIONS)
  vectors.forEach((vector, row) => void built.add(row, vector))
  let found = 0
  for (const question of vectors.slice(0, WANTED)) {
    const answers = built.search(question, WANTED)
    for (const { key, value } of answers) expect(value).toBeCloseTo(product(question, vectors[key]), 2)
    expect(answers.map(({ value }) => value)).toEqual(answers.map(({ value }) => value).toSorted((a, b) => b - a))
    const exact = vectors.map((vector, row) => ({ row, value: product(question, vector) })).sort((a, b) => b.value - a.value)
    const best = new Set(exact.slice(0, WANTED).map(({ row }) => row))
    found += answers.filter(({ key }) => best.has(key)).length
  }
  expect(found / (WANTED * WANTED)).toBeGreaterThan(0.95)
})

test('a search by cosine similarity ignores the lengths of the vectors', () => {
  const built = newVectorIndex(DIMENSIONS)
  vectors.forEach((vector, row) => void built.add(row, vector))
  const question = vectors[7].map((value) => value / length(vectors[7]))
  const cosines = vectors.map((vector, row) => ({ row, value: product(question, vector) / length(vector) }))
  cosines.sort((a, b) => b.value - a.value)
  const answers = built.search(question, WANTED, 'cosine')
  expect(answers[0].key).toBe(7)
  answers.forEach(({ value }, place) => void expect(value).toBeCloseTo(cosines[place].value, 2))
})

test('an empty index finds nothing', () => {
  expect(newVectorIndex(DIMENSIONS).search(vectors[0], WANTED)).toEqual([])
})
