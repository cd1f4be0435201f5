import { expect, test } from 'vitest'
import type { Batch, Database, RocksdbBinding, RowIterator } from '../../../state/stores/rocksdb-binding.ts'
import { catchUp, copyRows } from '../../../state/stores/rocksdb-copy.ts'
import { liveDatabase } from '../../../state/stores/rocksdb-live.ts'
import { until } from '../../pipelines/engine/harness.ts'

const [from, to] = [{} as Database, {} as Database]
const row = (text: string) => Buffer.from(text)

test('a copy waits while its target database is overloaded, and can be stopped while it waits', async () => {
  let waiting = '3'
  let looks = 0
  const written: Batch[] = []
  const binding: Partial<RocksdbBinding> = {
    db_get_property(database, name) {
      expect(database).toBe(to)
      if (name !== 'rocksdb.num-immutable-mem-table') return '0'
      looks++
      return waiting
    },
    iterator_init: () => ({}) as RowIterator,
    iterator_nextv_sync: () => ({ rows: [row('key'), row('value')], finished: true }),
    iterator_close() {},
    batch_init: () => ({}) as Batch,
    batch_put() {},
    batch_clear() {},
    batch_write: (_, batch) => void written.push(batch),
  }
  const copying = copyRows(binding as RocksdbBinding, from, to, () => true)
  await until(() => looks > 2, 'the copy checks the load repeatedly')
  expect(written).toEqual([])
  waiting = '2'
  expect(await copying).toBe(true)
  expect(written).toHaveLength(1)

  waiting = '3'
  let mayGoOn = true
  const stopped = copyRows(binding as RocksdbBinding, from, to, () => mayGoOn)
  mayGoOn = false
  expect(await stopped).toBe(false)
})

test('when a copy replaces the database, only the changes made during the catch-up remain to be applied', async () => {
  const written: [database: Database, change: unknown][] = []
  const binding: Partial<RocksdbBinding> = {
    db_get_property: () => '0',
    batch_count: () => 1,
    batch_write: (database, batch) => void written.push([database, batch]),
    db_clear: (database, range) => void written.push([database, range]),
  }
  const live = liveDatabase(binding as RocksdbBinding, from, undefined)
  const follower = live.follow()
  const range = { gte: row('a'), lt: row('b') }
  const [first, second, meanwhile] = [{}, {}, {}] as Batch[]
  live.write(first)
  live.deleteRange(range)
  live.write(second)
  written.length = 0

  let slices = 0
  /** Makes one change, before the first slice. On a busy machine, catching up may take several slices. */
  const lateChange = () => {
    if (++slices === 1) live.write(meanwhile)
    return true
  }
  expect(await catchUp(binding as RocksdbBinding, follower, to, lateChange)).toBe(true)
  expect(written).toEqual([
    [from, meanwhile],
    [to, first],
    [to, range],
    [to, second],
  ])
  written.length = 0
  follower.replace(to)
  expect(written).toEqual([[to, meanwhile]])
  expect(live.current).toBe(to)
})

test('catching up can be stopped, and ends at once if there are no changes', async () => {
  const binding: Partial<RocksdbBinding> = { db_get_property: () => '0', batch_count: () => 1, batch_write() {} }
  const live = liveDatabase(binding as RocksdbBinding, from, undefined)
  const follower = live.follow()
  expect(await catchUp(binding as RocksdbBinding, follower, to, () => true)).toBe(true)
  live.write({} as Batch)
  expect(await catchUp(binding as RocksdbBinding, follower, to, () => false)).toBe(false)
})
