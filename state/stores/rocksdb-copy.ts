import type { Database, RocksdbBinding } from './rocksdb-binding.ts'
import { isOverloaded } from './rocksdb-load.ts'

const ROWS_PER_FETCH = 256
/**
 * Duration of a slice of a copy. Between slices the thread does other work, so the copy takes at most a third of the
 * thread's time.
 */
const SLICE_MS = 4
const PAUSE_MS = 8
/** A key that is greater than every other key, because numbers of key spaces have four bytes. */
const END = Buffer.alloc(5, 0xff)

/**
 * Starts to copy all rows in their state at the time of the call. The copy waits while the other database is behind
 * with its flushes, because RocksDB would delay the next write, and with it the whole thread.
 * @param mayGoOn called between slices; false stops the copy
 * @returns a promise of whether the copy is complete
 */
export function copyRows(binding: RocksdbBinding, from: Database, to: Database, mayGoOn: () => boolean): Promise<boolean> {
  const iterator = binding.iterator_init(from, {
    gte: Buffer.alloc(1),
    lt: END,
    reverse: false,
    limit: -1,
    keyEncoding: 'buffer',
    valueEncoding: 'buffer',
  })
  const batch = binding.batch_init()

  /** @returns whether all rows are copied */
  function copySome(): boolean {
    const { rows, finished } = binding.iterator_nextv_sync(iterator, ROWS_PER_FETCH)
    for (let row = 0; row < rows.length; row += 2) binding.batch_put(batch, rows[row], rows[row + 1], undefined)
    if (rows.length > 0) binding.batch_write(to, batch, undefined)
    binding.batch_clear(batch)
    return finished
  }

  async function copyAll(): Promise<boolean> {
    try {
      for (;;) {
        if (!mayGoOn()) return false
        const until = performance.now() + SLICE_MS
        while (performance.now() < until && !isOverloaded(binding, to)) if (copySome()) return true
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
      }
    } finally {
      binding.iterator_close(iterator)
    }
  }

  return copyAll()
}
