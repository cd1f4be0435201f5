import { mkdtempSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { type Guardian, guard } from './guardian.ts'

const PREFIX = 'millrace-test-'

export interface GuardedFolder extends Guardian {
  readonly path: string
  /** True once `finish` has been called. From then on, processes in the folder are ended on purpose. */
  readonly isFinishing: boolean
}

/** The folders that this test file has created and not finished. Vitest loads this module again for each test file. */
const unfinished = new Set<GuardedFolder>()

/**
 * Creates a temporary folder. When this process ends, even by kill -9, a guardian deletes the folder and kills all
 * processes that run in it.
 */
export function guardedFolder(): GuardedFolder {
  // Resolves symbolic links, because the guardian compares the path with /proc/<pid>/cwd.
  const path = realpathSync(mkdtempSync(join(tmpdir(), PREFIX)))
  const { finish } = guard(path)
  let isFinishing = false
  const folder: GuardedFolder = {
    path,
    get isFinishing() {
      return isFinishing
    },
    finish() {
      isFinishing = true
      unfinished.delete(folder)
      return finish()
    },
  }
  unfinished.add(folder)
  return folder
}

/** Finishes all folders that the current test file has left. */
export async function finishFolders(): Promise<void> {
  await Promise.all([...unfinished].map((folder) => folder.finish()))
}

/** Returns true if the path looks like one that `guardedFolder` creates. */
export function isGuardedFolder(path: string): boolean {
  const real = resolve(path)
  return dirname(real) === realpathSync(tmpdir()) && basename(real).startsWith(PREFIX)
}
