import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const TABLES = join(import.meta.dirname, '../../bench/tables.ts')
/** Time limit of the benchmark. With so few entries, it needs a few seconds. */
const TIMEOUT_MS = 60_000

test('the benchmark of tables reads its topic, and prints figures of the packed table, its snapshot and the Map', async () => {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [TABLES, '1000'], { timeout: TIMEOUT_MS })
  expect(stderr).toBe('')
  for (const what of ['packed: memory per entry', 'packed: start from the snapshot', 'Map: lookup of a present key']) {
    expect(stdout).toContain(what)
  }
})
