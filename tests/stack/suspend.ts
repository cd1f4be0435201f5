import { readdirSync, readFileSync } from 'node:fs'
import { waitUntil } from '../../deploy/local/wait.ts'

/** Time limit for suspending a process. Suspending usually takes milliseconds, but longer on a busy machine. */
const SUSPEND_TIMEOUT_MS = 10_000
const LOOK_EVERY_MS = 1

/**
 * Suspends a process with SIGSTOP, and waits until all its threads have stopped. After `process.kill` has returned,
 * threads on other cores may continue to run for many milliseconds, so a suspended server could still answer a request.
 * Linux only.
 */
export async function suspend(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP')
  await waitUntil(() => isSuspended(pid), {
    what: `suspending process ${pid}`,
    timeoutMs: SUSPEND_TIMEOUT_MS,
    intervalMs: LOOK_EVERY_MS,
  })
}

function isSuspended(pid: number): boolean {
  return readdirSync(`/proc/${pid}/task`).every((thread) => {
    const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8')
    // The state follows the name of the thread, which is in parentheses and may itself contain parentheses.
    return stat.slice(stat.lastIndexOf(')')).startsWith(') T')
  })
}
