import type { Runtime } from '../../../runtime/runtime.ts'
import { erasureTimes } from '../../../state/erasure.ts'
import { corruptionIn } from '../../../state/stores/errors.ts'
import type { StateBackend } from '../../../state/stores/store.ts'
import { periodicJob } from './periodic-job.ts'
import type { Runner } from './runner.ts'

/** Default time, in ms, within which replaced and deleted values of erasable stores disappear from files. */
export const DEFAULT_ERASE_WITHIN_MS = 3_600_000

/**
 * Creates the job that removes replaced and deleted values from the files of erasable stores. If the files are damaged,
 * they cannot be rewritten. The job then ends the process, so that its next start restores the state.
 */
export function stateScrub(backend: Pick<StateBackend, 'scrub'>, eraseWithinMs: number, runtime: Pick<Runtime, 'sleep' | 'log'>): Runner {
  const { scrubEveryMs } = erasureTimes(eraseWithinMs)
  const run = async () => void (await backend.scrub())
  return periodicJob({ name: 'state-scrub', everyMs: scrubEveryMs, run, isFatal: (error) => corruptionIn(error) !== undefined }, runtime)
}

/**
 * Returns how long a worker keeps a topology's state after its partitions have moved to another worker, in ms. Nothing
 * erases values from such state, so state with erasable stores must be deleted in time.
 */
export function keptStateMs(keepStateMs: number, eraseWithinMs: number, isErasable: boolean): number {
  return isErasable ? Math.min(keepStateMs, erasureTimes(eraseWithinMs).movedMs) : keepStateMs
}
