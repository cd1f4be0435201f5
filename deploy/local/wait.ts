import { setTimeout as delay } from 'node:timers/promises'

/** Start-up checks are cheap local calls: ask often, so that a start takes no longer than it must. */
const POLL_INTERVAL_MS = 50

export interface WaitOptions {
  readonly what: string
  readonly timeoutMs: number
  readonly intervalMs?: number
  /** Asked before each try: a reason to give up at once (such as: the process has ended). */
  readonly givenUp?: () => string | undefined
}

/** Waits until `ready` answers true; errors of `ready` count as "not yet" and are told in the time-out. */
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
      throw new Error(`${options.what}: not ready within ${options.timeoutMs / 1000} s${detail}`)
    }
    await delay(options.intervalMs ?? POLL_INTERVAL_MS)
  }
}
