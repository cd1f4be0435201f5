import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { corruptionIn, type StateCorrupted } from './errors.ts'
import { DEFAULT_MEMORY_BUDGET_BYTES, openRocksdbBackend, type RocksdbOptions } from './rocksdb-backend.ts'
import { deleteDatabase } from './rocksdb-folders.ts'
import { type ApartStores, splitBackend } from './split-backend.ts'
import type { StateBackend } from './store.ts'

export interface StateOptions extends RocksdbOptions {
  /** Selects the erasable stores, which get a database of their own; see `SplitOptions`. Default: none. */
  readonly apartOf?: ((topology: string) => ApartStores | undefined) | undefined
}

/** Name of the subfolder with the database of the erasable stores. */
const APART = 'erasable'
/** Share of the memory budget for the database of the erasable stores. */
const APART_SHARE = 1 / 4

/** Opens the main database, and a second one if some stores are erasable. */
async function openState({ apartOf, ...options }: StateOptions): Promise<StateBackend> {
  const { folder, memoryBudgetBytes = DEFAULT_MEMORY_BUDGET_BYTES } = options
  if (apartOf === undefined) return await openRocksdbBackend(options)
  const apartBytes = memoryBudgetBytes * APART_SHARE
  const main = await openRocksdbBackend({ ...options, memoryBudgetBytes: memoryBudgetBytes - apartBytes })
  try {
    const isNew = !existsSync(join(folder, APART))
    const apart = await openRocksdbBackend({ ...options, folder: join(folder, APART), memoryBudgetBytes: apartBytes })
    return splitBackend({ main, apart, apartOf, isNew })
  } catch (error) {
    await main.close()
    throw error
  }
}

/**
 * Calls `run` with the worker's open database. If damage is found when the database is opened, the database is deleted
 * first. `run` then gets an empty database, and restores the state from the changelogs. If damage is found during
 * `run`, the database is deleted afterwards.
 * @param onDeleted called with the error that reports the damage, before the database is deleted
 * @throws StateLocked, StateUnavailable, and the errors of `run`, including the one that reports damage
 */
export async function withReplaceableState<Result>(
  options: StateOptions,
  onDeleted: (reason: StateCorrupted) => void,
  run: (backend: StateBackend) => Promise<Result>,
): Promise<Result> {
  function deleteIfDamaged(error: unknown): boolean {
    const reason = corruptionIn(error)
    if (reason === undefined) return false
    onDeleted(reason)
    deleteDatabase(options.folder)
    rmSync(join(options.folder, APART), { recursive: true, force: true })
    return true
  }

  async function open(): Promise<StateBackend> {
    try {
      return await openState(options)
    } catch (error) {
      if (!deleteIfDamaged(error)) throw error
      return openState(options)
    }
  }

  const backend = await open()
  let result: Result
  try {
    result = await run(backend)
  } catch (error) {
    // After a failed write, closing may fail as well. The caller needs the first error, which names the cause.
    await backend.close().catch(() => undefined)
    deleteIfDamaged(error)
    throw error
  }
  await backend.close()
  return result
}
