import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openRocksdbBackend } from '../../../state/stores/rocksdb-backend.ts'
import { newFolder, put, TOPOLOGY } from './harness.ts'

const CHILD_TIMEOUT_MS = 60_000

/** Runs a program whose writes beyond a maximum file size fail, as on a full disk. Returns the program's output. */
function outputOf(program: string, folder: string, fileLimitKib: number): string {
  const command = `ulimit -f ${fileLimitKib}; exec "$0" "$@"`
  const file = join(import.meta.dirname, 'children', program)
  const { stdout, stderr } = spawnSync('bash', ['-c', command, process.execPath, file, folder], { encoding: 'utf8' })
  expect(stderr).toBe('')
  return stdout
}

test(
  'a rewrite that fails on a full disk leaves no copy behind, and a later rewrite brings back no deleted rows',
  () => {
    const folder = newFolder()
    const { failure, keys } = JSON.parse(outputOf('rewrite-on-full-disk.ts', folder, 6_144))
    expect(failure).toContain(`StateUnavailable: rewriting the state in ${folder}: `)
    expect(keys).toEqual(['1 1'])
    expect(readdirSync(folder).sort()).toEqual(['generation', 'generation-1'])
  },
  CHILD_TIMEOUT_MS,
)

test('a rewrite takes over no rows from a copy that could not be removed earlier', async () => {
  const folder = newFolder()
  const backend = await openRocksdbBackend({ folder })
  const left = await openRocksdbBackend({ folder: join(folder, 'generation-1') })
  for (const [opened, key] of [
    [backend, 'kept'],
    [left, 'deleted'],
  ] as const) {
    const session = opened.session(TOPOLOGY)
    put(session.column('totals', 0), key, '1')
    session.write()
  }
  await left.close()
  expect(await backend.scrub()).toBe(true)
  expect(Array.from(backend.session(TOPOLOGY).column('totals', 0).scan({}), ([key]) => String(key))).toEqual(['kept'])
  await backend.close()
})

test(
  'a run that ends because the disk is full reports this, although the database cannot be closed properly',
  () => {
    expect(outputOf('run-on-full-disk.ts', newFolder(), 2_048)).toMatch(
      /^StateUnavailable: writing the state of orders in .*: File too large$/,
    )
  },
  CHILD_TIMEOUT_MS,
)
