/** Calls `run` after so many ms; nothing waits for it at the end of the process. */
export type Later = (ms: number, run: () => void) => void

/** Says how often something happened: the first time at once, then once in a while as long as it goes on. Every time is in one of the warnings. */
export interface SpacedWarning {
  happened(): void
  /** Says what was not said yet. */
  flush(): void
}

export interface SpacedWarningOptions {
  readonly everyMs: number
  /** @param times since the last warning, at least 1 */
  readonly say: (times: number) => void
  readonly later?: Later
}

const unwaited: Later = (ms, run) => void setTimeout(run, ms).unref()

export function spacedWarning({ everyMs, say, later = unwaited }: SpacedWarningOptions): SpacedWarning {
  let untold = 0
  let isQuiet = false

  function flush(): void {
    if (untold === 0) return
    const times = untold
    untold = 0
    say(times)
  }

  function tell(): void {
    isQuiet = untold > 0
    if (!isQuiet) return
    later(everyMs, tell)
    flush()
  }

  return {
    happened() {
      untold++
      if (!isQuiet) tell()
    },
    flush,
  }
}
