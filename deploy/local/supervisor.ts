import { setTimeout as delay } from 'node:timers/promises'
import type { Component } from './component.ts'

/** Pause before the first restart. Until a process has recovered, the pause doubles with every restart. */
const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 30_000
/**
 * A process that has run for this long counts as recovered. After its next crash, the pause is again as short as after
 * the first crash.
 */
const RECOVERED_AFTER_MS = 60_000
const MS_PER_SECOND = 1_000

export interface Supervisor {
  /** Restarts the component whenever its process ends. The component must have been started. */
  keepRunning(component: Component): void
  /**
   * Stops restarting components. Call it before you stop the first component. The function does not wait for a restart
   * that is in progress, because this could take minutes if the process does not respond. Stopping the component ends
   * the restart.
   */
  release(): void
}

export interface SupervisorDeps {
  readonly now?: () => number
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<unknown>
}

/** Keeps processes running and reports their crashes and restarts. */
export function supervisor(say: (text: string) => void, deps: SupervisorDeps = {}): Supervisor {
  const now = deps.now ?? Date.now
  const wait = deps.pause ?? ((ms, signal) => delay(ms, undefined, { signal }))
  const ending = new AbortController()

  async function restartWhenItEnds(component: Component): Promise<void> {
    let pause = FIRST_PAUSE_MS
    let startedAt = now()
    for (;;) {
      const { code, signal } = await component.whenExited()
      if (ending.signal.aborted) return
      if (now() - startedAt > RECOVERED_AFTER_MS) pause = FIRST_PAUSE_MS
      say(
        `${component.name} has ended (${signal ?? (code === null ? 'for an unknown reason' : `code ${code}`)}; log: ${component.logFile}); restarting it in ${pause / MS_PER_SECOND} s`,
      )
      for (;;) {
        await wait(pause, ending.signal).catch(() => undefined)
        if (ending.signal.aborted) return
        pause = Math.min(pause * 2, LONGEST_PAUSE_MS)
        try {
          startedAt = now()
          await component.start()
          if (ending.signal.aborted) return
          say(`${component.name} is running again`)
          break
        } catch (error) {
          if (ending.signal.aborted) return
          say(`${component.name} failed to start: ${(error as Error).message}; retrying in ${pause / MS_PER_SECOND} s`)
        }
      }
    }
  }

  return {
    keepRunning: (component) => void restartWhenItEnds(component),
    release: () => ending.abort(),
  }
}
