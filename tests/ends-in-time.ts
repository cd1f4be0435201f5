import { runInNewContext } from 'node:vm'

/**
 * Time limit of the work. The limit is generous: even on a busy machine, the work takes at most a few seconds. Callers
 * choose inputs so large that an algorithm with quadratic run time would take minutes.
 */
const DEADLINE_MS = 30_000

/**
 * Runs synchronous work, and interrupts it at a deadline. Vitest cannot interrupt synchronous work, so without the
 * deadline, hostile input could block the whole test run.
 * @throws Error if the work has not ended at the deadline
 */
export function endsInTime<T>(work: () => T): T {
  return runInNewContext('work()', { work }, { timeout: DEADLINE_MS }) as T
}
