import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { StateCorrupted } from './errors.ts'
import { openRocksdbBackend, type RocksdbOptions } from './rocksdb-backend.ts'
import type { StateBackend } from './store.ts'

/** The files that RocksDB makes; whatever else lies in the folder is not the database's. */
const DATABASE_FILE = /^(?:\d+\.(?:sst|log|blob|dbtmp)|MANIFEST-\d+|OPTIONS-\d+(?:\.dbtmp)?|CURRENT|IDENTITY|LOCK|LOG(?:\.old\.\d+)?)$/

/**
 * Runs with the worker's database open. A database that cannot be read, be it at the start or when a damaged block is met later, is deleted: what was
 * in it is restored from the changelogs then, as after the loss of the folder.
 * @param onDeleted told why
 * @throws StateLocked, StateUnavailable, and what `run` throws: damage that is met there ends it, the next run begins with an empty database
 */
export async function withReplaceableState<Result>(
  options: RocksdbOptions,
  onDeleted: (reason: StateCorrupted) => void,
  run: (backend: StateBackend) => Promise<Result>,
): Promise<Result> {
  function deleteIfDamaged(error: unknown): boolean {
    const reason = corruptionIn(error)
    if (reason === undefined) return false
    onDeleted(reason)
    deleteDatabase(options.folder)
    return true
  }

  async function open(): Promise<StateBackend> {
    try {
      return await openRocksdbBackend(options)
    } catch (error) {
      if (!deleteIfDamaged(error)) throw error
      return openRocksdbBackend(options)
    }
  }

  const backend = await open()
  let result: Result
  try {
    result = await run(backend)
  } catch (error) {
    await backend.close()
    deleteIfDamaged(error)
    throw error
  }
  await backend.close()
  return result
}

/** The damage behind an error: the engine wraps it with the place where it was met. */
function corruptionIn(error: unknown): StateCorrupted | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (cause instanceof StateCorrupted) return cause
  return undefined
}

function deleteDatabase(folder: string): void {
  for (const name of readdirSync(folder)) if (DATABASE_FILE.test(name)) rmSync(join(folder, name), { force: true })
}
