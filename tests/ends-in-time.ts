import { runInNewContext } from 'node:vm'

/**
 * Time limit of the work. It is far longer than the milliseconds to seconds that the work takes, even on a busy
 * machine. Callers choose inputs so large that work whose time grows with the square of the input would take minutes.
 */
const DEADLINE_MS = 30_000

/**
 * Runs synchronous work, and interrupts it at a deadline. Vitest cannot interrupt synchronous work, so without the
 * deadline, hostile input could block the whole run.
 * @throws Error if the work has not ended at the deadline
 */
export function endsInTime<T>(work: () => T): T {
  return runInNewContext('work()', { work }, { timeout: DEADLINE_MS }) as T
}
