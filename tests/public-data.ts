import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'vitest'
import { expectedDataFolder } from '../scripts/config.ts'
import { DATA_SETS, type DataSet, type DataSetName } from '../scripts/data-sets.ts'

/** Returns the path of a data set, or undefined if it is missing. */
export function publicData(name: DataSetName): string | undefined {
  const path = join(expectedDataFolder(), DATA_SETS[name].path)
  return existsSync(path) ? path : undefined
}

/**
 * Declares a test that needs a public data set. If the set is missing, the test is skipped with a reason that names the
 * set and its source. Outside of tests/chaos, tests that read public data are in files named *.data.test.ts. Where
 * possible, a test next to them checks the same behaviour on small generated data.
 * @param body receives the path of the data set
 */
export function dataTest(name: DataSetName, title: string, body: (path: string) => void | Promise<void>, timeoutMs?: number): void {
  test(
    title,
    async ({ skip }) => {
      const path = publicData(name)
      if (path === undefined) return skip(missing(DATA_SETS[name]))
      await body(path)
    },
    timeoutMs,
  )
}

function missing({ origin, path }: DataSet): string {
  return `needs ${origin}; set MILLRACE_DATA to the folder that contains ${path}`
}
