import type { StateSession } from '../../state/stores/store.ts'
import { deleteState, stateWrittenAt } from './restore.ts'
import type { TaskPlace } from './task-place.ts'
import type { EngineLog } from './worker-parts.ts'

const LOOK_EVERY_MS = 60_000

/** State of tasks that have moved to another worker: kept for a while, since partitions often come back, then deleted. */
export interface KeptState {
  /** Looks now and then; deletes at most one task's state per call. */
  attend(): void
}

export interface KeptStateDeps {
  readonly topology: string
  readonly places: readonly TaskPlace[]
  /** State that is written now and then, by a task or as a standby copy, does not get old. */
  readonly isUsed: (taskId: string) => boolean
  readonly keepMs: number
  readonly session: StateSession
  readonly clock: () => number
  readonly elapsed: () => number
  readonly log: EngineLog
}

export function keptState(deps: KeptStateDeps): KeptState {
  const { session, clock, elapsed } = deps
  let nextLook = elapsed() + Math.min(LOOK_EVERY_MS, deps.keepMs)

  function isOld(place: TaskPlace): boolean {
    if (deps.isUsed(place.id)) return false
    const writtenAt = stateWrittenAt(session, place)
    return writtenAt !== undefined && clock() - writtenAt > deps.keepMs
  }

  return {
    attend() {
      if (elapsed() < nextLook) return
      const old = deps.places.find(isOld)
      if (old === undefined) {
        nextLook = elapsed() + Math.min(LOOK_EVERY_MS, deps.keepMs)
        return
      }
      deleteState(session, old)
      deps.log.info({ topology: deps.topology, task: old.id }, 'moved_state_deleted')
    },
  }
}
