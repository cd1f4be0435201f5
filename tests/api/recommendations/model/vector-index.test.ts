import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Index, MetricKind, ScalarKind } from 'usearch'
import { afterAll, expect, test } from 'vitest'
import { newVectorIndex, viewVectorIndex } from '../../../../api/recommendations/model/vector-index.ts'

const DIMENSIONS = 16
const VECTORS = 300
const WANTED = 20
const folder = mkdtempSync(join(tmpdir(), 'millrace-vectors-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Deterministic vectors of different lengths. */
const vectors = Array.from({ length: VECTORS }, (_, row) =>
  Float32Array.from({ length: DIMENSIONS }, (_, column) => Math.sin((row + 1) * (column + 3) * 1.7) * ((row % 10) + 1) * 0.02),
)
const product = (one: Float32Array, other: Float32Array) => one.reduce((sum, value, at) => sum + value * other[at], 0)
const length = (vector: Float32Array) => Math.sqrt(product(vector, vector))
const rootOfLength = (vector: Float32Array) => Math.sqrt(length(vector))

test('more than 95 % of the vectors with the largest inner products are found, best first, in an index that was saved and mapped into memory', () => {
  const built = newVectorIndex(DIMENSIONS)
  vectors.forEach((vector, row) => void built.add(row, vector))
  const path = join(folder, 'index')
  built.save(path)
  const viewed = viewVectorIndex(path, DIMENSIONS, Float32Array.from(vectors, rootOfLength))
  expect(viewed.size).toBe(VECTORS)
  let found = 0
  for (const question of vectors.slice(0, WANTED)) {
    const answers = viewed.search(question, WANTED)
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

test('a file that is not an index is refused, and the attempt neither closes standard input nor ends the process', () => {
  const path = join(folder, 'no-index')
  const view = () => viewVectorIndex(path, DIMENSIONS, new Float32Array())
  const input = statSync('/proc/self/fd/0').ino
  expect(view).toThrow('ENOENT')
  for (const bytes of [Buffer.alloc(0), Buffer.alloc(4), Buffer.alloc(8), Buffer.alloc(100, 7)]) {
    writeFileSync(path, bytes)
    expect(view).toThrow('is not a saved index')
  }
  const other = newVectorIndex(2 * DIMENSIONS)
  other.add(0, new Float32Array(2 * DIMENSIONS).fill(0.1))
  other.save(path)
  expect(view).toThrow(`do not have ${DIMENSIONS} dimensions`)
  expect(statSync('/proc/self/fd/0').ino).toBe(input)
})

test('an index that an earlier version saved with half floats can still be opened and searched', () => {
  const shape = { dimensions: DIMENSIONS, metric: MetricKind.IP, connectivity: 24, expansion_add: 128, expansion_search: 64, multi: false }
  const older = new Index({ ...shape, quantization: ScalarKind.F16 })
  vectors.forEach((vector, row) => {
    const root = Math.sqrt(length(vector))
    older.add(
      BigInt(row),
      vector.map((value) => value / root),
    )
  })
  const path = join(folder, 'older')
  older.save(path)
  const viewed = viewVectorIndex(path, DIMENSIONS, Float32Array.from(vectors, rootOfLength))
  expect(viewed.size).toBe(VECTORS)
  for (const { key, value } of viewed.search(vectors[5], WANTED)) expect(value).toBeCloseTo(product(vectors[5], vectors[key]), 2)
})
