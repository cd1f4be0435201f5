import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { newVectorIndex, viewVectorIndex } from '../../../../api/recommendations/model/vector-index.ts'

const DIMENSIONS = 16
const VECTORS = 300
const WANTED = 20
const folder = mkdtempSync(join(tmpdir(), 'millrace-vectors-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Vectors of different lengths, from a generator with a fixed start. */
const vectors = Array.from({ length: VECTORS }, (_, row) =>
  Float32Array.from({ length: DIMENSIONS }, (_, column) => Math.sin((row + 1) * (column + 3) * 1.7) * ((row % 10) + 1) * 0.02),
)
const product = (one: Float32Array, other: Float32Array) => one.reduce((sum, value, at) => sum + value * other[at], 0)

test('the vectors with the greatest products are found, best first, in an index that was saved and mapped', () => {
  const built = newVectorIndex(DIMENSIONS)
  vectors.forEach((vector, row) => void built.add(BigInt(row), vector))
  const path = join(folder, 'index')
  built.save(path)
  const viewed = viewVectorIndex(path, DIMENSIONS, (key) => Math.sqrt(product(vectors[Number(key)], vectors[Number(key)])))
  expect(viewed.size).toBe(VECTORS)
  let found = 0
  for (const question of vectors.slice(0, WANTED)) {
    const answers = viewed.search(question, WANTED)
    for (const { key, product: given } of answers) expect(given).toBeCloseTo(product(question, vectors[Number(key)]), 2)
    expect(answers.map((one) => one.product)).toEqual(answers.map((one) => one.product).toSorted((a, b) => b - a))
    const exact = vectors.map((vector, row) => ({ row, value: product(question, vector) })).sort((a, b) => b.value - a.value)
    const best = new Set(exact.slice(0, WANTED).map(({ row }) => row))
    found += answers.filter(({ key }) => best.has(Number(key))).length
  }
  expect(found / (WANTED * WANTED)).toBeGreaterThan(0.95)
})

test('an empty index finds nothing, and one that is not there cannot be viewed', () => {
  expect(newVectorIndex(DIMENSIONS).search(vectors[0], WANTED)).toEqual([])
  expect(() => viewVectorIndex(join(folder, 'nothing'), DIMENSIONS, () => 1)).toThrow()
})
