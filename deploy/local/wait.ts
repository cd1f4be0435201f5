import { setTimeout as delay } from 'node:timers/promises'

/** Interval between checks. Startup checks are cheap local calls, so a short interval keeps the start fast. */
const POLL_INTERVAL_MS = 50

export interface WaitOptions {
  readonly what: string
  readonly timeoutMs: number
  readonly intervalMs?: number
  /**
   * Called before each attempt. Returns a reason to give up immediately, such as the end of the process; undefined to
   * continue.
   */
  readonly givenUp?: () => string | undefined
}

/**
 * Waits until `ready` returns true. If `ready` throws, it counts as not ready. A timeout error contains the last error
 * that `ready` threw.
 */
export async function waitUntil(ready: () => Promise<boolean> | boolean, options: WaitOptions): Promise<void> {
  const deadline = Date.now() + options.timeoutMs
  let lastError: unknown
  for (;;) {
    const reason = options.givenUp?.()
    if (reason !== undefined) throw new Error(`${options.what}: ${reason}`)
    try {
      if (await ready()) return
    } catch (error) {
      lastError = error
    }
    if (Date.now() >= deadline) {
      const detail = lastError instanceof Error ? ` (last error: ${lastError.message})` : ''
      throw new Error(`${options.what}: timed out after ${options.timeoutMs / 1000} s${detail}`)
    }
    await delay(options.intervalMs ?? POLL_INTERVAL_MS)
  }
}
