import { mkdtempSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { type Guardian, guard } from './guardian.ts'

const PREFIX = 'millrace-test-'

export interface GuardedFolder extends Guardian {
  readonly path: string
  /** From the call of `finish` on: what ends now is meant to. */
  readonly isFinishing: boolean
}

/** A temporary folder that disappears with everything that runs in it when this process ends, also by kill -9. */
export function guardedFolder(): GuardedFolder {
  // The real path: the guardian compares it with /proc/<pid>/cwd.
  const path = realpathSync(mkdtempSync(join(tmpdir(), PREFIX)))
  const { finish } = guard(path)
  let isFinishing = false
  return {
    path,
    get isFinishing() {
      return isFinishing
    },
    finish() {
      isFinishing = true
      return finish()
    },
  }
}

/** Whether a path is one that `guardedFolder` may have made. */
export function isGuardedFolder(path: string): boolean {
  const real = resolve(path)
  return dirname(real) === realpathSync(tmpdir()) && basename(real).startsWith(PREFIX)
}
