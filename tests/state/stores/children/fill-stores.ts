import { openRocksdbBackend } from '../../../../state/stores/rocksdb-backend.ts'
import { TOPOLOGY } from '../harness.ts'

/** Writes rows to many stores and partitions. Prints the maximum growth of memory outside the V8 heap, in bytes. */
const STORES = 40
const PARTITIONS = 8
const VALUE_BYTES = 200
const BATCH = 5000

const [folder, budget, rows] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])]
const backend = await openRocksdbBackend({ folder, memoryBudgetBytes: budget })
const session = backend.session(TOPOLOGY)
const columns = Array.from({ length: STORES * PARTITIONS }, (_, at) => session.column(`store ${at % STORES}`, Math.floor(at / STORES)))
const key = Buffer.alloc(8)
const value = Buffer.alloc(VALUE_BYTES, 'some text that repeats itself ')
const nativeBytes = () => {
  const { rss, heapTotal } = process.memoryUsage()
  return rss - heapTotal
}
const before = nativeBytes()
let most = before
for (let row = 0; row < rows; row++) {
  key.writeUInt32BE(Math.imul(row, 2654435761) >>> 0)
  value.writeUInt32BE(row)
  columns[row % columns.length].put(key, 0, key.length, value, 0, value.length)
  if (row % BATCH !== BATCH - 1) continue
  session.write()
  most = Math.max(most, nativeBytes())
}
process.stdout.write(`${most - before}\n`)
await backend.close()
