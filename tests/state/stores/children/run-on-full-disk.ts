import { withReplaceableState } from '../../../../state/stores/replaceable-state.ts'
import { put, TOPOLOGY } from '../harness.ts'

/** Writes rows until the files reach the maximum size of this process, and prints the error. */
const ROWS_PER_WRITE = 100
const VALUE = 'x'.repeat(1_000)

await withReplaceableState(
  { folder: process.argv[2] },
  () => {},
  async (backend) => {
    const session = backend.session(TOPOLOGY)
    for (let row = 1; ; row++) {
      put(session.column('totals', 0), `${row}`, VALUE)
      if (row % ROWS_PER_WRITE === 0) session.write()
    }
  },
).catch((error: Error) => process.stdout.write(`${error.name}: ${error.message}`))
