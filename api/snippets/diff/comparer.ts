import { type WorkThread, workThread } from '../work-thread.ts'
import type { Patch, PatchRequest } from './patch.ts'

/** Compares two texts. null: they are too different; undefined: too many others wait for that. */
export type Comparer = WorkThread<PatchRequest, Patch | null>

/** A comparison ends itself after a quarter of a second: those that wait before it take no longer than this. */
const MAX_WAITING = 10
const MAX_WAIT_MS = 5_000
const WORKER = new URL('./patch-worker.ts', import.meta.url)

export function threadComparer(): Comparer {
  return workThread(WORKER, { timeoutMs: MAX_WAIT_MS, maxWaiting: MAX_WAITING })
}
