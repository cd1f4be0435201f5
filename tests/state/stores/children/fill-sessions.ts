import { openRocksdbBackend } from '../../../../state/stores/rocksdb-backend.ts'

/**
 * Writes one large batch in the session of each topology, as after a backlog, and another one in its copy session, as
 * in a restore. Prints by how many bytes the memory of the process outside the V8 heap has grown.
 */
const TOPOLOGIES = 20
const ROWS = 10_000
const VALUE = Buffer.alloc(1_000, 'x')

const [folder, budget] = [process.argv[2], Number(process.argv[3])]
const backend = await openRocksdbBackend({ folder, memoryBudgetBytes: budget })
const nativeBytes = () => {
  const { rss, heapTotal } = process.memoryUsage()
  return rss - heapTotal
}
const before = nativeBytes()
for (let topology = 0; topology < TOPOLOGIES; topology++) {
  for (const session of [backend.session(`topology ${topology}`), backend.copySession(`topology ${topology}`)]) {
    const column = session.column('totals', 0)
    for (let row = 0; row < ROWS; row++) {
      const key = Buffer.from(`key ${row}`)
      column.put(key, 0, key.length, VALUE, 0, VALUE.length)
    }
    session.write()
  }
}
process.stdout.write(`${nativeBytes() - before}\n`)
await backend.close()
