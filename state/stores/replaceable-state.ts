import { StateCorrupted } from './errors.ts'
import { openRocksdbBackend, type RocksdbOptions } from './rocksdb-backend.ts'
import { deleteDatabase } from './rocksdb-folders.ts'
import type { StateBackend } from './store.ts'

/**
 * Calls `run` with the worker's open database. If the database is found to be damaged, at the start or later, it is
 * deleted. The next run then restores its content from the changelogs, as after the loss of the folder.
 * @param onDeleted receives the reason for the deletion
 * @throws StateLocked, StateUnavailable, and the errors of `run`. If damage is found during `run`, `run` ends, and the
 * next run begins with an empty database.
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

/**
 * Finds the damage among the causes of an error, because the engine wraps the error with the place where it occurred.
 */
function corruptionIn(error: unknown): StateCorrupted | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (cause instanceof StateCorrupted) return cause
  return undefined
}
