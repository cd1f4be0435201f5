import { expect, test } from 'vitest'
import type { RocksdbBinding } from '../../../state/stores/rocksdb-binding.ts'
import { isOverloaded, nearsStall } from '../../../state/stores/rocksdb-load.ts'

function overloaded(memtables: string, files: string, errors = '0', check = isOverloaded): boolean {
  const values: Readonly<Record<string, string>> = {
    'rocksdb.num-immutable-mem-table': memtables,
    'rocksdb.num-files-at-level0': files,
    'rocksdb.background-errors': errors,
  }
  const binding: Pick<RocksdbBinding, 'db_get_property'> = { db_get_property: (_, name) => values[name] ?? '' }
  return check(binding, {} as Parameters<typeof isOverloaded>[1])
}

test('a database counts as overloaded with three immutable memtables or ten files in level 0', () => {
  expect(overloaded('0', '0')).toBe(false)
  expect(overloaded('2', '9')).toBe(false)
  expect(overloaded('3', '0')).toBe(true)
  expect(overloaded('0', '10')).toBe(true)
  // The native binding returns an empty string for unknown properties.
  expect(overloaded('', '')).toBe(false)
})

test('a database does not count as overloaded after a failed flush or compaction, because only a write reports the failure', () => {
  expect(overloaded('3', '0', '1')).toBe(false)
  expect(overloaded('0', '10', '2')).toBe(false)
})

test('a database is near a stall when one more memtable or file would delay its writers', () => {
  expect(overloaded('3', '18', '0', nearsStall)).toBe(false)
  expect(overloaded('4', '0', '0', nearsStall)).toBe(true)
  expect(overloaded('0', '19', '0', nearsStall)).toBe(true)
  expect(overloaded('4', '19', '1', nearsStall)).toBe(false)
})
