import type { Runtime } from '../../../runtime/runtime.ts'
import type { StateSession } from '../../../state/stores/store.ts'
import type { TaskPlace } from '../task/task-place.ts'
import { deleteState, stateWrittenAt } from './restore.ts'

const LOOK_EVERY_MS = 60_000

/**
 * Deletes the state of tasks that have moved to another worker. It waits for a while first, because partitions often
 * come back.
 */
export interface StateCleaner {
  /** Checks for unused state from time to time, not at every call. Deletes the state of at most one task per call. */
  cleanUp(): void
}

export interface StateCleanerDeps {
  readonly topology: string
  readonly places: readonly TaskPlace[]
  /** Returns true for tasks that run on this worker or have a standby copy on it. */
  readonly isUsed: (taskId: string) => boolean
  readonly keepMs: number
  readonly session: StateSession
  readonly runtime: Runtime
}

export function stateCleaner(deps: StateCleanerDeps): StateCleaner {
  const { session, runtime, keepMs } = deps
  const lookEveryMs = Math.min(LOOK_EVERY_MS, keepMs)
  /**
   * When each task was first found to be unused. The age of a task's state does not show this, because an idle task
   * writes only once an hour.
   */
  const unusedSince = new Map<string, number>()
  let nextLook = runtime.monotonic() + lookEveryMs

  function isOld(place: TaskPlace): boolean {
    const writtenAt = stateWrittenAt(session, place)
    if (writtenAt === undefined || deps.isUsed(place.id)) {
      unusedSince.delete(place.id)
      return false
    }
    const since = unusedSince.get(place.id) ?? runtime.monotonic()
    unusedSince.set(place.id, since)
    // The task may have been used between two checks. Only the write time of its state shows such a use.
    return runtime.monotonic() - since >= keepMs && runtime.now() - writtenAt > keepMs
  }

  return {
    cleanUp() {
      if (runtime.monotonic() < nextLook) return
      const [old] = deps.places.filter(isOld)
      if (old === undefined) {
        nextLook = runtime.monotonic() + lookEveryMs
        return
      }
      deleteState(session, old)
      runtime.log.info({ topology: deps.topology, task: old.id }, 'moved_state_deleted')
    },
  }
}
