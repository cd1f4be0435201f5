import { type WorkThread, workThread } from '../../kit/work-thread.ts'
import type { Patch, PatchRequest } from './patch.ts'

/**
 * Compares two texts. Returns null if the texts are too different to be compared in time. Returns undefined if the
 * thread fails or hangs, if the request waits too long for the thread, or if too many requests wait.
 */
export type Comparer = WorkThread<PatchRequest, Patch | null>

/**
 * Maximum number of comparisons that wait or run. Each comparison stops after a quarter of a second, so this many
 * comparisons take less than the maximum waiting time.
 */
const MAX_WAITING = 10
const MAX_WAIT_MS = 5_000
/**
 * Time limit of a comparison, for a thread that hangs. The sum of this limit and the maximum waiting time is below the
 * time limit of a request.
 */
const MAX_COMPARE_MS = 2_000
const WORKER = new URL('./patch-worker.ts', import.meta.url)

export function threadComparer(): Comparer {
  return workThread(WORKER, { timeoutMs: MAX_COMPARE_MS, maxWaitMs: MAX_WAIT_MS, maxWaiting: MAX_WAITING })
}
