import { mkdtempSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Guardian, guard } from './guardian.ts'

export interface GuardedFolder extends Guardian {
  readonly path: string
}

/** A temporary folder that disappears with everything that runs in it when this process ends, also by kill -9. */
export function guardedFolder(): GuardedFolder {
  // The real path: the guardian compares it with /proc/<pid>/cwd.
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'millrace-test-')))
  return { path, ...guard(path) }
}
