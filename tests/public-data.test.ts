import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '..')
/** Matches the files of tests/chaos. They may read public data, because they also run without it. */
const CHAOS = /^tests\/chaos\//
const READS_DATA = /public-data\.ts'|\b(?:expectedDataFolder|dataSet)\(/

test('only files named *.data.test.ts read public data, apart from the files of tests/chaos, which also run without it', () => {
  const readers = globSync(['tests/**/*.test.ts', 'docs/**/*.test.ts'], { cwd: ROOT }).filter(
    (file) => !CHAOS.test(file) && file !== 'tests/public-data.test.ts' && READS_DATA.test(readFileSync(join(ROOT, file), 'utf8')),
  )
  expect(readers.length).toBeGreaterThan(0)
  expect(readers.filter((file) => !file.endsWith('.data.test.ts'))).toEqual([])
})
