import { openRocksdbBackend } from '../../../../state/stores/rocksdb-backend.ts'
import { put, TOPOLOGY } from '../harness.ts'

/**
 * Rewrites a database. The copy exceeds the maximum file size of this process, so it fails as on a full disk. Then
 * deletes all rows but one, and rewrites the database again. Prints why the first rewrite failed, and the keys that the
 * database contains after the second rewrite.
 */
const folder = process.argv[2]
/**
 * Each open starts a new write-ahead log, so only the log of the copy contains all rows and exceeds the maximum file
 * size.
 */
const OPENS = 3
const ROWS_PER_OPEN = 4_000
const VALUE = 'x'.repeat(1_000)
const KEPT = '1 1'

for (let open = 0; open < OPENS; open++) {
  const filled = await openRocksdbBackend({ folder })
  const session = filled.session(TOPOLOGY)
  for (let row = 0; row < ROWS_PER_OPEN; row++) put(session.column('totals', 0), `${open} ${row}`, VALUE)
  session.write()
  await filled.close()
}

const backend = await openRocksdbBackend({ folder })
const session = backend.session(TOPOLOGY)
const column = session.column('totals', 0)
const keys = () => Array.from(column.scan({}), ([key]) => String(key))
const failure = await backend.scrub().then(
  () => 'none',
  (error: Error) => `${error.name}: ${error.message}`,
)
for (const key of keys()) if (key !== KEPT) put(column, key, null)
session.write()
await backend.scrub()
process.stdout.write(JSON.stringify({ failure, keys: keys() }))
await backend.close()
