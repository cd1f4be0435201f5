import { expect, test } from 'vitest'
import type { Batch, Database, RocksdbBinding, RowIterator } from '../../../state/stores/rocksdb-binding.ts'
import { copyRows } from '../../../state/stores/rocksdb-copy.ts'
import { until } from '../../pipelines/engine/harness.ts'

const [from, to] = [{} as Database, {} as Database]
const row = (text: string) => Buffer.from(text)

test('a copy waits while the database that it fills is overloaded, and can be stopped in the meantime', async () => {
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
  await until(() => looks > 2, 'it looks again and again')
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
