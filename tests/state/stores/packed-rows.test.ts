import { expect, test } from 'vitest'
import { keyHash, PackedRows } from '../../../state/stores/packed-rows.ts'

const MIB = 1_048_576
const ROWS = 40_000
const VALUE = Buffer.alloc(200, 'v')

function fill(rows: PackedRows, count: number): void {
  for (let i = 0; i < count; i++) {
    const key = Buffer.from(`key ${i}`)
    const row = rows.add(key, 0, key.length, keyHash(key, 0, key.length))
    rows.setValue(row, VALUE, 0, VALUE.length)
  }
}

function expectRows(rows: PackedRows, count: number): void {
  for (let i = 0; i < count; i++) {
    const key = Buffer.from(`key ${i}`)
    const row = rows.find(key, 0, key.length, keyHash(key, 0, key.length))
    expect(rows.buffer.subarray(rows.valueStart(row), rows.valueEnd(row)).equals(VALUE)).toBe(true)
  }
}

test('a table frees the memory of a burst after it has hardly been used for some time', () => {
  const rows = new PackedRows()
  fill(rows, ROWS)
  const burst = rows.capacity
  expect(burst).toBeGreaterThan(8 * MIB)
  for (let use = 0; use < 1_000; use++) {
    rows.clear()
    fill(rows, 10)
  }
  expect(rows.capacity).toBeLessThanOrEqual(MIB)
  expectRows(rows, 10)
  rows.clear()
  fill(rows, ROWS)
  expectRows(rows, ROWS)
})

test('a table that is used regularly keeps its memory, even if some uses are small', () => {
  const rows = new PackedRows()
  fill(rows, ROWS)
  const before = rows.capacity
  for (let use = 0; use < 300; use++) {
    rows.clear()
    if (use % 50 === 0) fill(rows, ROWS)
  }
  expect(rows.capacity).toBe(before)
})
