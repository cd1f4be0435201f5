import fc from 'fast-check'
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

test('a table that was filled once shrinks to at most 1 MiB after a thousand small uses, and can be filled again', () => {
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

test('a table that is filled at every fiftieth use keeps its memory', () => {
  const rows = new PackedRows()
  fill(rows, ROWS)
  const before = rows.capacity
  for (let use = 0; use < 300; use++) {
    rows.clear()
    if (use % 50 === 0) fill(rows, ROWS)
  }
  expect(rows.capacity).toBe(before)
})

test('a value of 10,000 bytes that is replaced 10,000 times takes less than 1 MiB', () => {
  const rows = new PackedRows()
  fill(rows, 10)
  const value = Buffer.alloc(10_000, 'w')
  const key = Buffer.from('hot')
  const hot = rows.add(key, 0, key.length, keyHash(key, 0, key.length))
  for (let i = 0; i < 10_000; i++) rows.setValue(hot, value, 0, value.length)
  expect(rows.capacity).toBeLessThan(MIB)
  expect(rows.buffer.subarray(rows.valueStart(hot), rows.valueEnd(hot)).equals(value)).toBe(true)
  expectRows(rows, 10)
})

test('after any sequence of replaced and removed values, a table contains the same rows as a map', () => {
  const change = fc.tuple(fc.integer({ min: 0, max: 8 }), fc.option(fc.integer({ min: 0, max: 5_000 })))
  fc.assert(
    fc.property(fc.array(change, { maxLength: 60 }), (changes) => {
      const rows = new PackedRows()
      const expected = new Map<string, string | undefined>()
      for (const [number, length] of changes) {
        const key = Buffer.from(`key ${number}`)
        const hash = keyHash(key, 0, key.length)
        const known = rows.find(key, 0, key.length, hash)
        const row = known < 0 ? rows.add(key, 0, key.length, hash) : known
        const value = length === null ? undefined : String(number).repeat(length)
        if (value === undefined) rows.removeValue(row)
        else rows.setValue(row, Buffer.from(value), 0, value.length)
        expected.set(String(key), value)
      }
      const found = new Map<string, string | undefined>()
      for (let row = 0; row < rows.count; row++) {
        const textOf = (start: number, end: number) => rows.buffer.toString('latin1', start, end)
        const value = rows.hasValue(row) ? textOf(rows.valueStart(row), rows.valueEnd(row)) : undefined
        found.set(textOf(rows.keyStart(row), rows.keyEnd(row)), value)
      }
      expect(found).toEqual(expected)
      const bytes = [...expected].reduce((sum, [key, value]) => sum + key.length + (value?.length ?? 0), 0)
      expect(rows.currentBytes).toBe(bytes)
    }),
  )
})
