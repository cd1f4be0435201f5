import type { Database, RocksdbBinding } from './rocksdb-binding.ts'
import type { Follower } from './rocksdb-live.ts'
import { isOverloaded } from './rocksdb-load.ts'

const ROWS_PER_FETCH = 256
/**
 * Duration of a slice: how long a copy runs before it pauses. During the pauses the thread does other work, so copying
 * the rows takes about a third of the thread's time.
 */
const SLICE_MS = 4
const PAUSE_MS = 8
/** Pause between slices while the copy catches up. With a longer pause, it would fall behind again. */
const SHORT_PAUSE_MS = 1
/** An end after all keys: each key begins with the 4-byte number of its key space, which is never 0xffffffff. */
const END = Buffer.alloc(5, 0xff)

/** Decides between slices whether the work continues. */
type MayGoOn = () => boolean

interface Slices {
  readonly mayGoOn: MayGoOn
  readonly pauseMs: number
}

/**
 * Copies all rows as they are at the time of the call.
 * @param mayGoOn called between slices; false stops the copy
 * @returns whether the copy is complete
 */
export function copyRows(binding: RocksdbBinding, from: Database, to: Database, mayGoOn: MayGoOn): Promise<boolean> {
  const iterator = binding.iterator_init(from, {
    gte: Buffer.alloc(1),
    lt: END,
    reverse: false,
    limit: -1,
    keyEncoding: 'buffer',
    valueEncoding: 'buffer',
  })
  const batch = binding.batch_init()

  /**
   * Copies the next rows.
   * @returns whether all rows are copied
   */
  function copySome(): boolean {
    const { rows, finished } = binding.iterator_nextv_sync(iterator, ROWS_PER_FETCH)
    for (let row = 0; row < rows.length; row += 2) binding.batch_put(batch, rows[row], rows[row + 1], undefined)
    if (rows.length > 0) binding.batch_write(to, batch, undefined)
    binding.batch_clear(batch)
    return finished
  }

  return inSlices(binding, to, { mayGoOn, pauseMs: PAUSE_MS }, copySome).finally(() => binding.iterator_close(iterator))
}

/**
 * Applies the changes that were made while the rows were copied. Later changes are applied when the copy replaces the
 * database.
 * @param mayGoOn called between slices; false stops the step
 * @returns whether all changes from before this step are applied
 */
export function catchUp(binding: RocksdbBinding, follower: Follower, copy: Database, mayGoOn: MayGoOn): Promise<boolean> {
  // Only the changes so far are applied, because a fast writer could add changes faster than this loop applies them.
  let left = follower.changes
  return inSlices(binding, copy, { mayGoOn, pauseMs: SHORT_PAUSE_MS }, () => {
    if (left > 0) follower.applyNext(copy)
    return --left <= 0
  })
}

/**
 * Repeats a step until it returns true, or until `mayGoOn` returns false. The steps wait while the database that they
 * fill is overloaded, because RocksDB would soon delay a write, which blocks the whole thread.
 */
async function inSlices(binding: RocksdbBinding, to: Database, { mayGoOn, pauseMs }: Slices, step: () => boolean): Promise<boolean> {
  for (;;) {
    if (!mayGoOn()) return false
    const until = performance.now() + SLICE_MS
    while (performance.now() < until && !isOverloaded(binding, to)) if (step()) return true
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}
