/** Calls `run` after `ms` milliseconds. The timer does not keep the process alive. */
export type Later = (ms: number, run: () => void) => void

/**
 * Reports how often an event happens: the first time immediately, then at intervals for as long as the event recurs.
 * Each occurrence is counted in exactly one warning.
 */
export interface SpacedWarning {
  happened(): void
  /** Reports occurrences that no warning has counted yet. */
  flush(): void
}

export interface SpacedWarningOptions {
  readonly everyMs: number
  /**
   * Writes a warning.
   * @param times number of occurrences since the last warning, at least 1
   */
  readonly say: (times: number) => void
  readonly later?: Later
}

const unreferencedTimer: Later = (ms, run) => void setTimeout(run, ms).unref()

export function spacedWarning({ everyMs, say, later = unreferencedTimer }: SpacedWarningOptions): SpacedWarning {
  let unreported = 0
  let isWaiting = false

  function flush(): void {
    if (unreported === 0) return
    const times = unreported
    unreported = 0
    say(times)
  }

  function report(): void {
    isWaiting = unreported > 0
    if (!isWaiting) return
    later(everyMs, report)
    flush()
  }

  return {
    happened() {
      unreported++
      if (!isWaiting) report()
    },
    flush,
  }
}
