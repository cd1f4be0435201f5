import { utf8 } from '../../../../schemas/keys.ts'
import { keyedStore } from '../../../../state/stores/keyed-store.ts'
import { openRocksdbBackend } from '../../../../state/stores/rocksdb-backend.ts'
import { openStore, raw, TOPOLOGY } from '../harness.ts'

/**
 * Writes batches until a write fails or the process is killed: batch n sets every key to n and the position to n.
 * Values are padded, so that memtables are flushed during the run. Prints n after each write. After a failed write,
 * prints the name of the error and kills its own process.
 */
const KEYS = 100
const PADDING = 'x'.repeat(2000)
const MEMORY_BUDGET_BYTES = 4 * 1024 * 1024

const backend = await openRocksdbBackend({ folder: process.argv[2], memoryBudgetBytes: MEMORY_BUDGET_BYTES })
const session = backend.session(TOPOLOGY)
const store = openStore(keyedStore('totals', { key: utf8, value: raw(utf8) }), backend)

for (let batch = (session.position('source') ?? 0) + 1; ; batch++) {
  for (let key = 0; key < KEYS; key++) store.put(`key ${key}`, `${batch} ${PADDING}`)
  store.flush(undefined)
  session.putPosition('source', batch)
  try {
    session.write()
  } catch (error) {
    process.stdout.write(`failed ${error instanceof Error ? error.name : String(error)} ${batch}\n`)
    process.kill(process.pid, 'SIGKILL')
  }
  store.committed()
  process.stdout.write(`${batch}\n`)
}
